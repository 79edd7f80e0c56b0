"""Write what is measured into the pages: the table "Measured" of both READMEs, and what ``docs`` has of figures.

Run ``python docs/making/measured.py``. ``benchmarks/measured`` has a file for each benchmark, written by its option
``--json``; ``measured.md.j2`` and ``measured.zh.md.j2`` have the rows. Only the text between the comment marks is
replaced. ``--measure`` runs the benchmarks first, which takes the better part of an hour; ``--measure NAME …`` runs
those alone. The file ``reader_model.json`` is written by ``docs/making/reader_model.py --json``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import orjson

ROOT = Path(__file__).resolve().parents[2]
#: The pages with the table, and the templates of its rows.
PAGES = {
    ROOT / "README.md": "measured.md.j2",
    ROOT / "README.zh-CN.md": "measured.zh.md.j2",
    ROOT / "docs" / "scaling.md": "scaling.md.j2",
    ROOT / "docs" / "security.md": "evasion.md.j2",
}
RESULTS = ROOT / "benchmarks" / "measured"
BEGIN, END = "<!-- measured: made by docs/making/measured.py -->\n", "<!-- end of measured -->"
#: Arguments of the benchmarks that do not take their defaults.
ARGUMENTS: dict[str, list[str]] = {
    "batch": ["documents", "--documents", "100000", "20000", "--turns", "1"],
    "crawl_pages": ["--pages", "--count", "250"],
    "faults": ["pipeline"],
    "identity": ["--step", "6"],
    "shared": ["--runs", "5", "--pages", "10000", "200000"],
}
#: Benchmarks with several results, by the names of their files.
MODULES = {"crawl_pages": "crawl"}


def renewed(page: str, template: str) -> str:
    """Return a page with a new table.

    Args:
        page: its text.
        template: name of the file with the rows.

    Raises:
        jinja2.UndefinedError: a file does not have a figure that the table names.
    """
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{table(template)}{END}{rest.partition(END)[2]}"


def table(template: str) -> str:
    """Return the table of the results that are stored, in the rows of a template."""
    # The rows are Markdown, so nothing is escaped.
    environment = jinja2.Environment(  # noqa: S701
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(whole=whole, short=short, span=span)
    return environment.get_template(template).render(results())


def results() -> dict[str, Any]:
    """Return the stored results by the name of their benchmark."""
    return {path.stem: orjson.loads(path.read_bytes()) for path in sorted(RESULTS.glob("*.json"))}


def whole(value: float) -> str:
    """Return a figure without decimals, with commas between thousands.

    >>> whole(1216.4)
    '1,216'
    """
    return f"{value:,.0f}"


def short(value: float) -> str:
    """Return a figure with two significant digits, all of its digits before the point.

    >>> short(0.0842), short(4.61), short(89.4)
    ('0.084', '4.6', '89')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def span(values: list[float]) -> str:
    """Return the lowest and the highest figure.

    >>> span([1.62, 1.91]), span([5.0])
    ('1.6 to 1.9', '5')
    """
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"


def measure(names: list[str]) -> None:
    """Run benchmarks, and store their results. One that misses a bar is reported, and its results are stored."""
    for name in names:
        command = [sys.executable, "-m", f"benchmarks.{MODULES.get(name, name)}", *ARGUMENTS.get(name, [])]
        command += ["--json", str(RESULTS / f"{name}.json")]
        done = subprocess.run(command, cwd=ROOT, check=False)  # noqa: S603  # a module of this repository
        print(f"{name}: {'done' if done.returncode == 0 else f'ended with status {done.returncode}'}", flush=True)


def main() -> None:
    """Update the pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", nargs="*", metavar="NAME", help="run benchmarks first: all, or these")
    asked = parser.parse_args()
    if asked.measure is not None:
        measure(asked.measure or [name for name in results() if name != "reader_model"])
    for path, template in PAGES.items():
        path.write_text(renewed(path.read_text("utf-8"), template), "utf-8")


if __name__ == "__main__":
    main()
