"""Write what is measured into the pages: the table "Measured" of both READMEs, and what ``docs`` has of figures.

Run ``python docs/making/measured.py``. ``benchmarks/measured`` has a file for each benchmark, written by its option
``--json``; ``measured.md.j2`` and ``measured.zh.md.j2`` have the rows. Only the text between the comment marks is
replaced. ``--measure`` runs the benchmarks first, which takes the better part of an hour; ``--measure NAME …`` runs
those alone. The file ``reader_model.json`` is written by ``docs/making/reader_model.py --json``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # this file is run as a script

from benchmarks.sizing import total_text  # noqa: E402
from docs.making import figures  # noqa: E402

#: The pages with the table, and the templates of its rows.
PAGES = {
    ROOT / "README.md": "measured.md.j2",
    ROOT / "README.zh-CN.md": "measured.zh.md.j2",
    ROOT / "docs" / "scaling.md": "scaling.md.j2",
    ROOT / "docs" / "security.md": "evasion.md.j2",
}
RESULTS = ROOT / "benchmarks" / "measured"
BEGIN, END = "<!-- measured: made by docs/making/measured.py", "<!-- end of measured -->"
_tables = re.compile(rf"({BEGIN}(?: from ([\w.]+)(?: for (\w+))?)? -->\n).*?{END}", re.DOTALL)
#: Made sites: those that end, and those that do not, with one that changes during the crawl.
FINITE, ENDLESS = (
    [each for site in sites.split() for each in ("--site", site)]
    for sites in (
        "facets print case mirror paging lang ids login variants clean",
        "change session utm calendar position slug soft404 notfound",
    )
)
#: Arguments of the benchmarks that do not take their defaults.
ARGUMENTS: dict[str, list[str]] = {
    "batch": ["documents", "--documents", "100000", "20000", "--turns", "1"],
    "buckets": ["--pages", "10000", "50000", "200000"],
    "claims": [*"abcdef"],
    "claims_reading": [*"gh"],
    "cluster": ["cost"],
    "crawl_forum": ["--site", "forum"],
    "crawl_known": ["--site", "known"],
    "crawl_pages": ["--site", "pages"],
    "crawl_recrawl": ["--site", "recrawl"],
    "crawl_template": ["--site", "template"],
    "faults": ["pipeline"],
    "foresee": [*FINITE, "--strategy", "plain", "--strategy", "skip", "--seeds", "5"],
    "foresee_depth": [*ENDLESS, "--strategy", "skip", "--seeds", "5", "--order", "depth"],
    "foresee_endless": [*ENDLESS, "--strategy", "skip", "--seeds", "5"],
    "recrawl": ["--pages", "200"],
    "identity": ["--step", "6"],
    "shared": ["--runs", "5", "--pages", "10000", "200000"],
    "store": ["--pages", "1000000"],
}
#: Benchmarks with several results, by the names of their files.
MODULES = {f"crawl_{site}": "crawl" for site in ("forum", "known", "pages", "recrawl", "template")}
MODULES |= {"claims_reading": "claims", "foresee_depth": "foresee", "foresee_endless": "foresee"}


def renewed(page: str, template: str = "") -> str:
    """Return a page with new tables, and new figures in its sentences.

    Args:
        page: its text.
        template: name of the file with the rows of a table whose comment names none.

    Raises:
        jinja2.UndefinedError: a file does not have a figure that a table or :mod:`docs.making.figures` names.
    """
    tables = _tables.sub(lambda found: f"{found[1]}{table(found[2] or template, found[3] or '')}{END}", page)
    return figures.filled(tables, value)


def environment() -> jinja2.Environment:
    """Return what renders tables and figures: an unknown figure is an error."""
    # The rows are Markdown, so nothing is escaped.
    found = jinja2.Environment(  # noqa: S701
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update(
        whole=whole, short=short, span=span, total=total, begins=begins, signed=signed, share=share, of_pages=of_pages
    )
    return found


def table(template: str, which: str = "") -> str:
    """Return the table of the results that are stored, in the rows of a template.

    Args:
        template: name of its file.
        which: part of the template, for one with several tables.
    """
    return environment().get_template(template).render(results(), which=which)


def value(name: str) -> str:
    """Return a figure of ``figures.toml``."""
    expressions, _ = figures.listed()
    if name not in expressions:
        raise KeyError(f"{name} is no figure of {figures.LISTED.name}")
    return environment().from_string("{{ " + expressions[name] + " }}").render(results())


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


def total(value: float, pages: int) -> str:
    """Return the size of that many pages of so many bytes each.

    >>> total(569.9, 10**6), total(1216, 10**8)
    ('570 MB', '122 GB')
    """
    return total_text(round(value), pages)


def begins(found: dict[str, float], start: str) -> list[float]:
    """Return the figures whose names begin with a text, in their order.

    >>> begins({"hash: at 10 pages": 5.0, "hash: at 99 pages": 6.0, "other": 7.0}, "hash: at")
    [5.0, 6.0]
    """
    return [value for name, value in found.items() if name.startswith(start)]


def of_pages(types: dict[str, dict[str, float]], what: str) -> float:
    """Return a share of all labelled pages from its shares by type of page; reprints of these pages do not count.

    >>> of_pages({"a": {"pages": 30, "x": 0.1}, "b": {"pages": 10, "x": 0.5}, "reprint": {"pages": 9, "x": 1}}, "x")
    0.2
    """
    found = [each for name, each in types.items() if name != "reprint"]
    return sum(each["pages"] * each[what] for each in found) / sum(each["pages"] for each in found)


def signed(value: float) -> str:
    """Return a difference with its sign and two decimals.

    >>> signed(0.874), signed(-0.26)
    ('+0.87', '−0.26')
    """
    return f"{value:+.2f}".replace("-", "−")


def share(value: float) -> str:
    """Return a ratio as a difference in percent.

    >>> share(0.994), share(-0.03)
    ('+99 %', '−3 %')
    """
    return f"{100 * value:+.0f} %".replace("-", "−")


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
    for path in figures.pages():
        before = path.read_text("utf-8")
        after = renewed(before, PAGES.get(path, ""))
        if after != before:
            path.write_text(after, "utf-8")


if __name__ == "__main__":
    main()
