"""What an installation adds to Scrapy: ``python -m benchmarks.installed``.

An empty environment gets the package as a user gets it, ``pip install .``, and ``.ci/sizes.py`` adds the sizes of all
files. Packages are downloaded.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.results import add_json_option, write_results

ROOT = Path(__file__).resolve().parent.parent


def measure(folder: Path) -> tuple[int, int]:
    """Install the package into a new environment; return the megabytes of Scrapy, and those added to it.

    Args:
        folder: the environment is made there.
    """
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check", "--prefer-binary", "--no-compile"]
    subprocess.run([python, "-m", "pip", "install", *quiet, ROOT], check=True)
    sizes = ROOT / ".ci" / "sizes.py"
    out = subprocess.run([python, sizes], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(out, end="")
    [found] = re.findall(r"Scrapy (\d+) MB, dedupcrawl adds (\d+) MB", out)
    return int(found[0]), int(found[1])


def main() -> int:
    """Install and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_json_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scrapy, added = measure(Path(folder))
    write_results(options.json, "installed", figures={"MB of Scrapy": scrapy, "MB added": added})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
