"""Links and references lead to the text that they name: overview pages, messages, comments of the code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.crawl.settings import SETTINGS
from dedupcrawl.detectors.registry import DETECTORS
from docs.making.site import anchors, entries, headings, linking, relinked
from tests.data import ROOT
from tests.docs.test_reference import section_of

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
LANGUAGES = pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["en", "zh"])
#: A row of the table of all settings: anchor, name, section, default.
_ROW = re.compile(r'^\| <a id="(\w+)"></a>\[`(\w+)`\]\(([\w-]+)\.md#(\w+)\) \| (.+?) \| .+ \|$', re.MULTILINE)
#: What the code calls a page, and perhaps its sections: docs/batch.md, "Spark" and "Files".
_REFERENCE = re.compile(r'docs/([\w-]+)\.md((?:(?:,| and) "[^"]+")*)')


@LANGUAGES
def test_every_setting_has_a_row_in_the_overview_that_leads_to_its_section(folder: Path) -> None:
    rows = _ROW.findall((folder / "settings.md").read_text("utf-8"))
    assert sorted(row[1] for row in rows) == sorted(SETTINGS)
    for anchor, name, page, section, _ in rows:
        assert anchor == section == name.lower()
        assert (2, name) in headings((folder / f"{page}.md").read_text("utf-8"))


@LANGUAGES
def test_the_overview_has_the_default_of_every_setting(folder: Path) -> None:
    for _, name, _, _, default in _ROW.findall((folder / "settings.md").read_text("utf-8")):
        stated = re.match(r"\nDefault: (.+?) · ", section_of(name))
        assert stated
        if stated[1].startswith("`"):  # else it depends on the crawl, and is described
            assert default == stated[1], name


def test_every_detector_has_an_entry_in_the_overview() -> None:
    assert {f"methods.md#{name}" for name in DETECTORS} <= {*entries()}


def test_every_entry_leads_to_a_section() -> None:
    assert len(entries()) > len(SETTINGS) + len(DETECTORS)
    for page, _, anchor in (section.partition("#") for section in entries().values()):
        assert anchor in anchors((DOCS / page).read_text("utf-8"))


@pytest.mark.parametrize("page", linking(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_sections_and_not_to_entries(page: Path) -> None:
    text = page.read_text("utf-8")
    assert relinked(text, entries()) == text, "python docs/making/site.py --renew-links"


@pytest.mark.parametrize("prefix", ["", "docs/", "docs/zh/", "../../docs/"])
def test_a_link_to_an_entry_is_led_on(prefix: str) -> None:
    text = f"[a]({prefix}one.md#a) [b]({prefix}one.md#b) `one.md#a`"
    assert relinked(text, {"one.md#a": "two.md#c"}) == f"[a]({prefix}two.md#c) [b]({prefix}one.md#b) `one.md#a`"


def references() -> list[tuple[str, str, str]]:
    """Return file, page and sections of all references of the code, joined over the lines of comments."""
    found = []
    for path in sorted((ROOT / "dedupcrawl").rglob("*.py")):
        text = re.sub(r"\n\s*#?:? ?", " ", path.read_text("utf-8"))
        found += [(path.name, *each) for each in _REFERENCE.findall(text)]
    return found


def test_pages_and_sections_that_the_code_names_exist() -> None:
    assert len(references()) > 10
    for file, page, sections in references():
        titles = [title for _, title in headings((DOCS / f"{page}.md").read_text("utf-8"))]
        assert [each for each in re.findall(r'"([^"]+)"', sections) if each not in titles] == [], (file, page)
