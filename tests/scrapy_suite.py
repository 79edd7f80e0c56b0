"""Runs Scrapy's own tests of items, pipelines and crawls with the add-on in every crawl.

``python -m tests.scrapy_suite`` downloads the source distribution of the installed version of Scrapy, which has the
tests, into a temporary folder. A test that fails without the add-on too (a package is missing, for example) is no fault
of ours. Further arguments are those of pytest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import scrapy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Files of tests: pipelines, media, the output of spiders, crawls, contracts.
FILES = (
    "test_pipelines.py",
    "test_pipeline_media.py",
    "test_pipeline_crawl.py",
    "test_pipeline_images.py",
    "test_spidermiddleware_output_chain.py",
    "test_crawl.py",
    "test_spider_crawl.py",
    "test_contracts.py",
)
#: Tests that no add-on with an item pipeline can pass, with the reason.
IMPOSSIBLE = {
    "tests/test_pipelines.py::TestCustomPipelineManager::test_integration_no_async_not_subclass": (
        "its ITEM_PROCESSOR creates all pipelines without their crawler"
    )
}
TOOLS = ("pytest-twisted", "decorator", "greenlet")  #: what these tests need besides pytest
PLUGIN = "dedupcrawl_everywhere"
#: A plugin of pytest. With the default store, a test would know the pages of the tests before it.
PLUGIN_SOURCE = """
from scrapy.settings import default_settings

default_settings.ADDONS = {"dedupcrawl.Addon": 500}
default_settings.DEDUP_STORE = "memory://"
"""


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit code."""
    with TemporaryDirectory() as folder:
        suite = ScrapySuite(Path(folder))
        failed = suite.failures("-p", PLUGIN, *arguments)
        ours = failed and sorted(set(failed) - set(suite.failures(*failed, files=())))
    for test, reason in IMPOSSIBLE.items():
        print(f"Not run: {test}: {reason}")
    print(f"{len(failed) - len(ours)} tests fail without the add-on too.")
    print(f"{len(ours)} tests fail because of the add-on.", *ours, sep="\n")
    return 1 if ours else 0


class ScrapySuite:
    """Scrapy's tests in a folder, with the package as it is installed."""

    def __init__(self, folder: Path) -> None:
        self.tools = folder / "tools"
        _pip("download", "--no-deps", "--no-binary", "scrapy", "--dest", folder, f"scrapy=={scrapy.__version__}")
        _pip("install", "--no-deps", "--target", self.tools, *TOOLS)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        self.root = folder / archive.name.removesuffix(".tar.gz")
        shutil.rmtree(self.root / "scrapy")
        (self.tools / f"{PLUGIN}.py").write_text(PLUGIN_SOURCE)

    def failures(self, *arguments: str, files: Iterable[str] = FILES) -> list[str]:
        """Run tests; return the names of those that failed. Raises ``RuntimeError`` if none ran."""
        path = [str(self.tools), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        skipped = [f"--deselect={test}" for test in IMPOSSIBLE]
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", *skipped]
        done = subprocess.run(
            [*command, *arguments, *(f"tests/{name}" for name in files)],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        print(done.stdout)
        if done.returncode not in (0, 1) or not re.search(r"\d+ (passed|failed)", done.stdout):
            raise RuntimeError(f"pytest ended with exit code {done.returncode}")
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)


def _pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *map(str, arguments)], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
