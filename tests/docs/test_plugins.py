"""Each row of the page on other plugins names a test that exists, and the version with which it runs."""

from __future__ import annotations

import ast
import re

from tests.data import ROOT

PAGE = (ROOT / "docs" / "plugins.md").read_text("utf-8")
ROWS = [re.split(r" ?\| ?", row.strip()[1:-1]) for row in PAGE.splitlines() if "::test_" in row]
PINS = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?==(\S+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE))


def test_the_test_of_each_row_exists() -> None:
    for row in ROWS:
        path, _, name = row[-1].strip("` ").partition("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}, row


def test_each_row_of_a_table_has_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (?!plugin)|\|(?= \|)", line)]
    assert len(rows) == len(ROWS) > 15, [row for row in rows if "::test_" not in row]


def test_each_file_of_tests_is_named() -> None:
    named = {row[-1].strip("` ").partition("::")[0] for row in ROWS}
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "plugins").glob("test_*.py")}
    assert files <= named


def test_versions_are_those_of_the_requirements() -> None:
    shown = dict(re.findall(r"^\| \[([\w-]+)\]\(\S+\) (\d\S+) ", PAGE, re.MULTILINE))
    assert len(shown) >= 9
    assert shown == {name: PINS[name] for name in shown}
    scrapys = set(re.findall(r"Scrapy (\d[\d.]*\d)", PAGE))
    assert scrapys == {PINS["scrapy"]}
