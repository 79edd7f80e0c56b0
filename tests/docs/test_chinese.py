"""The Chinese pages say what the English ones say: the same blocks, settings, messages, figures and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml

from docs.making import site
from docs.making.site import anchors, chinese_page, headings, renewed, translations, with_chinese_links
from tests.data import ROOT
from tests.docs.blocks import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
PAGES = translations()

_BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
#: Figures: at least two digits. Smaller numbers are words in one of the languages.
_FIGURE = re.compile(r"\d[\d,.]*\d")
_HAN = "[\u4e00-\u9fff]"
#: The part of a template, and the text that it makes.
_MEASURED = re.compile(r"<!-- measured: \S+ \S+ \S+(?: from [\w.]+(?: for (\w+))?)? -->\n(.*?)<!-- end of", re.DOTALL)
#: Words of measured tables that have a translation.
_ENGLISH = {
    "a",
    "and",
    "at",
    "by",
    "characters",
    "copies",
    "kept",
    "missed",
    "of",
    "on",
    "page",
    "pages",
    "the",
    "wrong",
}


@dataclass(frozen=True)
class Section:
    """The text below one heading, without code blocks."""

    title: str
    text: str

    @property
    def code(self) -> set[str]:
        """What is set as code."""
        return {" ".join(each.split()) for each in _CODE.findall(self.text)}

    @property
    def links(self) -> set[str]:
        """Where links to other pages go, and pictures are: as seen from the folder of the English pages."""
        found = {link.removeprefix("../").replace("docs/zh/", "docs/") for link in _LINK.findall(self.text)}
        return {re.sub(r"\.zh(?:-CN)?(\.\w+)(?=#|$)", r"\1", link) for link in found if not link.startswith("#")}

    @property
    def figures(self) -> set[str]:
        """The numbers outside of code and links."""
        text = re.sub(r"([\d.]+) billion", lambda found: f"{10 * float(found[1]):g} 亿", self.text)
        return set(_FIGURE.findall(_LINK.sub("", _CODE.sub("", text))))

    @property
    def rows(self) -> int:
        """How many rows its tables have."""
        return len(re.findall(r"^\|", self.text, re.MULTILINE))


def sections(page: Path) -> list[Section]:
    text = _COMMENT.sub("", _BLOCK.sub("", page.read_text("utf-8")))
    titles = ["(top)", *_HEADING.findall(text)]
    return [Section(*each) for each in zip(titles, _HEADING.split(text), strict=True)]


def pages_of(nav: object) -> Iterator[str]:
    """Yield the files of a navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict | list):
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(each)


def lacking(page: Path, original: Path, aspect: str) -> list[str]:
    """Return what one of the two pages has in a section and the other has not."""
    told = []
    for ours, theirs in zip(sections(page), sections(original), strict=True):
        here, there = getattr(ours, aspect), getattr(theirs, aspect)
        if here != there:
            one, other = ({here}, {there}) if isinstance(here, int) else (here, there)
            told.append(
                f"{ours.title} / {theirs.title}: lacks {sorted(other - one)}, has besides {sorted(one - other)}"
            )
    return told


BOTH = pytest.mark.parametrize(("page", "original"), PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def test_every_page_of_the_navigation_is_translated() -> None:
    pages = set(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert len(pages) > 30
    assert {page.name for page, _ in PAGES} >= pages


def test_the_changelog_stays_english_and_says_so() -> None:
    text = chinese_page("changelog.md")
    assert "更新日志只有英文版。" in text
    parts = re.findall(r'^--8<-- "CHANGELOG.md:(\d+):(\d*)"$', text, re.MULTILINE)
    assert parts == [("1", "1"), ("2", "")], "the title, the notice, the rest"


@BOTH
def test_measured_tables_and_lists_are_in_the_language_of_their_page(page: Path, original: Path) -> None:
    found, theirs = (_MEASURED.findall(each.read_text("utf-8")) for each in (page, original))
    assert [part.removesuffix("zh").removeprefix("zh_") for part, _ in found] == [
        part.removesuffix("en") for part, _ in theirs
    ]
    words = {word for _, text in found for word in re.findall(r"[A-Za-z]+", _LINK.sub("", _CODE.sub("", text)))}
    assert words & _ENGLISH == set()


@BOTH
def test_headings_are_as_many_and_of_the_same_levels(page: Path, original: Path) -> None:
    ours, theirs = (headings(each.read_text("utf-8")) for each in (page, original))
    assert [level for level, _ in ours] == [level for level, _ in theirs], f"{ours}\n{theirs}"
    for (_, here), (_, there) in zip(ours, theirs, strict=True):
        assert set(_CODE.findall(here)) == set(_CODE.findall(there))


@BOTH
def test_code_blocks_are_those_that_the_tests_run_on_the_english_page(page: Path, original: Path) -> None:
    ours, theirs = ([(block.kind, block.text) for block in blocks_of(each)] for each in (page, original))
    assert ours == theirs


@BOTH
def test_screenshots_of_a_translation_are_in_its_language(page: Path, original: Path) -> None:
    pictures = re.findall(r"pictures/[\w.-]+", page.read_text("utf-8"))
    assert [each for each in pictures if not re.search(r"\.zh\.\w+$", each)] == []


def test_code_blocks_are_renewed_from_the_english_page() -> None:
    english = "# A\n\n```shell\nnew 1\n```\n\n- b\n\n  ```\n  new 2\n  ```\n"
    ours = "# 甲\n\n```shell\nold\n```\n\n- 乙\n\n  ```\n  old\n  # x\n  ```\n"
    assert renewed(ours, english, "a.md") == english.replace("# A", "# 甲").replace("- b", "- 乙")
    with pytest.raises(SystemExit, match=r"a\.md has 2 code blocks, and the English page 3"):
        renewed(ours, f"{english}\n```\n3\n```\n", "a.md")


@BOTH
@pytest.mark.parametrize("aspect", ["code", "links", "figures", "rows"])
def test_sections_have_the_same(page: Path, original: Path, aspect: str) -> None:
    assert lacking(page, original, aspect) == []


@BOTH
def test_punctuation_after_chinese_characters_is_chinese(page: Path, original: Path) -> None:
    text = _CODE.sub("`", "\n".join(each.text for each in sections(page)))
    # CommonMark does not end bold text between a full stop and a letter.
    assert re.findall(rf"[。，：；！？]\*\*{_HAN}.{{0,8}}", re.sub(r"\*\*(.+?)\*\*", r"\1**", text)) == []
    assert re.findall(f".{{0,12}}{_HAN}[,;:!?].{{0,8}}", text) == []


def test_links_to_a_section_lead_to_it_in_both_languages() -> None:
    for page, original in PAGES[:-1]:
        named = re.findall(r"^#+ .* \{#(\S+)\}$", _BLOCK.sub("", chinese_page(page.name)), re.MULTILINE)
        assert named == anchors(original.read_text("utf-8"))


@BOTH
def test_links_lead_to_chinese_pages_where_these_exist(page: Path, original: Path) -> None:
    text = page.read_text("utf-8")
    assert text == with_chinese_links(text, page.parent), "python docs/making/site.py --renew-blocks"


def test_a_link_is_led_to_the_translation() -> None:
    links = (
        "[](../limits.md#a) [](../unwritten.md) [](limits.md) [](https://a.example/limits.md) [](../pictures/a.zh.svg)"
    )
    assert with_chinese_links(links, DOCS / "zh") == links.replace("../limits.md", "limits.md")
    assert with_chinese_links("[](docs/limits.md#a) [](CHANGELOG.md)", ROOT) == (
        "[](docs/zh/limits.md#a) [](CHANGELOG.md)"
    )


def test_links_within_the_readme_lead_to_a_heading() -> None:
    text = PAGES[-1][0].read_text("utf-8")
    titles = {f"#{title.lower().replace(' ', '-')}" for _, title in headings(text)}
    within = [link for link in _LINK.findall(text) if link.startswith("#")]
    assert within
    assert set(within) <= titles


def test_a_page_without_translation_is_english_with_a_notice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text("notice: 本页尚无中文版。\n", "utf-8")
    monkeypatch.setattr(site, "CHINESE", tmp_path)
    page = "limits.md"
    title, _, text = (DOCS / page).read_text("utf-8").partition("\n")
    assert chinese_page(page).startswith(f'{title}\n\n!!! note ""\n    本页尚无中文版。\n')
    assert chinese_page(page).endswith(text)


@pytest.mark.parametrize(
    ("changed", "aspect", "told"),
    [
        (("`DEDUP_TTL` ", ""), "code", "DEDUP_TTL"),
        (("12 s", "13 s"), "figures", "12"),
        (("](b.md)", "](c.md)"), "links", "b.md"),
        (("| 2 |\n", ""), "rows", "2"),
    ],
)
def test_what_a_translation_lacks_is_named(tmp_path: Path, changed: tuple[str, str], aspect: str, told: str) -> None:
    text = "# A\n\n## B\n\n`DEDUP_TTL` 12 s [b](b.md)\n\n| 1 |\n| 2 |\n"
    english, ours = tmp_path / "english.md", tmp_path / "ours.md"
    english.write_text(text, "utf-8")
    ours.write_text(text, "utf-8")
    assert lacking(ours, english, aspect) == []
    ours.write_text(text.replace(*changed), "utf-8")
    (found,) = lacking(ours, english, aspect)
    assert found.startswith("## B / ## B: lacks")
    assert told in found
