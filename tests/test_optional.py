"""Packages that only some users need: what works without them, and how a missing one is asked for."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Config, batch
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.errors import MissingPackageError
from dedupcrawl.text.lexicon import built_in
from dedupcrawl.text.words import load_segmenter
from dedupcrawl.utils.optional import import_extra, require_extra
from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
_FUNCTIONS = ("import_extra", "require_extra")


def names(requirements: list[str]) -> set[str]:
    """Names of packages, as they are imported."""
    return {re.split(r"[<>=\[; ]", each)[0].lower().replace("-", "_") for each in requirements}


OPTIONAL = sorted({*names([each for extra in EXTRAS.values() for each in extra]), "scipy"} - {"dedupcrawl"})


def calls() -> Iterator[tuple[str, str]]:
    """Package and extra of every call of the helpers whose arguments are constants."""
    for path in (ROOT / "dedupcrawl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _FUNCTIONS:
                package, _, extra = node.args
                if isinstance(package, ast.Constant):
                    assert isinstance(extra, ast.Constant)
                    yield str(package.value).partition(".")[0], str(extra.value)


def test_the_extra_that_is_named_installs_the_package() -> None:
    found = set(calls())
    # Those of spark are in a loop, spidermon imports our monitors, and tests/stores/test_opening.py is about redis.
    others = {"all", "spark", "spidermon", "redis"}
    assert {extra for _, extra in found} == {*EXTRAS} - others
    for package, extra in found:
        assert package in names(EXTRAS[extra])
    assert {"pyspark", "pandas"} < names(EXTRAS["spark"])
    assert "dedupcrawl[batch]" in EXTRAS["spark"], "for pyarrow"


def test_all_is_all_of_them() -> None:
    [everything] = EXTRAS["all"]
    assert everything == f"dedupcrawl[{','.join(each for each in EXTRAS if each != 'all')}]"


def test_what_is_installed_for_everybody_is_nothing_optional() -> None:
    assert names(PROJECT["dependencies"]).isdisjoint(OPTIONAL)
    assert "scipy" in names(requires("datasketch") or []), "why datasketch is optional: scipy takes 140 MB"


class SparkFrame:
    """Stands for a DataFrame of Spark."""

    __module__ = "pyspark.sql.classic.dataframe"


NEEDED: dict[str, tuple[str, Callable[[], object]]] = {
    "words": ("The detector spotsigs needs the package jieba: pip install 'dedupcrawl[zh]'", lambda: one("spotsigs")),
    "idf": ("The built-in lexicon needs the package jieba: pip install 'dedupcrawl[zh]'", lambda: one("keywords")),
    "datasketch": (
        "The detector datasketch needs the package datasketch: pip install 'dedupcrawl[datasketch]'",
        lambda: one("datasketch"),
    ),
    "opencc": (
        "Reading traditional Chinese as simplified needs the package opencc: pip install 'dedupcrawl[zh]'",
        lambda: Config(fold_chinese=True),
    ),
    "rjieba": (
        "The segmenter rjieba needs the package rjieba: pip install 'dedupcrawl[rjieba]'",
        lambda: Config(segmenter="rjieba"),
    ),
    "spark": (
        "Spark needs the package pyspark: pip install 'dedupcrawl[spark]'",
        lambda: batch.deduplicate(SparkFrame()),
    ),
    "table": ("A table needs the package pyarrow: pip install 'dedupcrawl[batch]'", lambda: batch.deduplicate({})),
}


def one(detector: str) -> object:
    return build_detectors(Config(detectors=(detector,)))


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all optional packages, as if they were not installed."""
    for name in OPTIONAL:
        monkeypatch.setitem(sys.modules, name, None)
    built_in.cache_clear()
    load_segmenter.cache_clear()


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("need", NEEDED)
def test_one_sentence_with_the_command(need: str) -> None:
    sentence, needing = NEEDED[need]
    with pytest.raises(MissingPackageError) as caught:
        needing()
    assert str(caught.value) == sentence


@pytest.mark.usefixtures("hidden")
def test_a_detector_asks_only_for_what_it_uses() -> None:
    asking = {"datasketch", "keywords", "imatch", "imatch_randomized", "boolean", "spotsigs"}
    for name in {*DETECTORS} - asking:
        assert one(name)
    assert build_detectors(Config(detectors={"keywords": {"variant": 1}})), "a hash of the summary uses no words"
    for name in asking:
        with pytest.raises(MissingPackageError, match="needs the package"):
            one(name)
    with pytest.raises(MissingPackageError, match="The detector spotsigs needs the package jieba"):
        build_detectors(Config(detectors={"combined": {"any_of": ["simhash", "spotsigs"]}}))


def test_a_package_that_lacks_something_itself_is_another_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "incomplete_package.py").write_text("import there_is_no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="there_is_no_such_package"):
        import_extra("incomplete_package", "This test", "all")
    assert require_extra("incomplete_package", "This test", "all").name == "incomplete_package"


def test_a_crawl_with_default_settings_needs_none_of_them() -> None:
    """Chinese included, and any threshold."""
    program = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None
from dedupcrawl import Addon, Deduplicator
from dedupcrawl.tools.evaluation.metrics import clopper_pearson
from tests.texts import CHINESE, ENGLISH
assert clopper_pearson(7, 9)
for threshold in (0.8, 0.83):
    with Deduplicator(threshold=threshold) as dedup:
        for text in (CHINESE, ENGLISH):
            dedup.add(text=text, url="https://a.example/1")
            print(dedup.add(text=text + "完。", url="https://b.example/1").relation)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["near-duplicate"] * 4
