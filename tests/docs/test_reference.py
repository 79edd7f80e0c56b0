"""The reference pages list every setting, stat, option and reason, and no others."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

import dedupcrawl
from dedupcrawl import Config, Deduplicator, Page, Verdict
from dedupcrawl.crawl import item_pages, page_view, responses
from dedupcrawl.crawl.settings import SETTINGS
from dedupcrawl.decision import Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.page import compiled
from dedupcrawl.text import features
from docs.making import measured
from docs.making.commands import PAGES, commands, renewed
from tests.data import ROOT
from tests.docs.newspapers import ICE
from tests.texts import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
PACKAGE = ROOT / "dedupcrawl"
SETTINGS_PAGES = sorted(path.name for path in DOCS.glob("settings-*.md"))


def headings(page: str, level: int = 2) -> list[str]:
    mark = "#" * level
    found = re.findall(rf"^{mark} (.+)$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    return [each.replace("`", "") for each in found]


def section(page: str, heading: str) -> str:
    text = (DOCS / page).read_text("utf-8")
    return re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def section_of(setting: str) -> str:
    """Return the section of a setting."""
    (found,) = [page for page in SETTINGS_PAGES if setting in headings(page)]
    return section(found, setting)


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of all tables, without heads."""
    cells = [
        [cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in text.split("\n") if line[:2] == "| "
    ]
    return [row for row in cells if row[0].startswith("`")]


def names(text: str) -> set[str]:
    """Return the code in the first cells."""
    return {name for row in rows(text) for name in re.findall(r"`([^`]+)`", row[0])}


# -- settings and meta keys ---------------------------------------------------------------------


def test_every_setting_has_a_section_and_no_other_has() -> None:
    assert sorted(each for page in SETTINGS_PAGES for each in headings(page)) == sorted(SETTINGS)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_section_of_a_setting_begins_with_its_default_and_type_and_has_an_example(setting: str) -> None:
    text = section_of(setting)
    found_default = re.match(r"\nDefault: (.+?) · type: (.+)\n\n", text)
    assert found_default, text[:100]
    assert "```" in text, "an example"


def test_defaults_are_those_of_the_configuration() -> None:
    for field in fields(Config):
        found_default = re.search(r"Default: `(.+?)`", section_of(f"DEDUP_{field.name.upper()}"))
        assert found_default
        default = getattr(Config(), field.name)
        shown = ast.literal_eval(found_default[1])
        assert {*shown} == {*map(str, default)} if isinstance(default, frozenset) else (
            tuple(shown) == default if isinstance(default, tuple) else shown == default
        ), field.name  # fmt: skip


def test_every_meta_key_has_a_section() -> None:
    used = {responses.SKIP, page_view.META_KEY, item_pages.DEDUP_PAGE}
    source = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    asked = set(re.findall(r'meta(?:\.get\(|\[)"(dedup_\w+)"', source)) | used
    assert set(headings("meta.md")) == asked


# -- stats, verdicts ----------------------------------------------------------------------------


def counted() -> Iterator[str]:
    """Yield the names of the counters in the source."""
    for path in (PACKAGE / "crawl").glob("*.py"):
        caller = "self.count" if path.name == "stats.py" else "stats.count"
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(caller):
                name = ast.unparse(node.args[0]).lstrip("f").strip("'")
                yield re.sub(r"\{verdict\.(\w+)\}", r"<\1>", name)


def test_every_stat_has_a_row_and_no_other_has() -> None:
    assert names((DOCS / "stats.md").read_text("utf-8")) == {f"dedup/{each}" for each in counted()}


def test_every_field_of_a_verdict_has_a_row_and_no_other_has() -> None:
    text = section("verdict.md", "The field `dedup` of an item")
    assert names(text) == {field.name for field in fields(Verdict)}


def test_every_status_and_relation_has_a_row() -> None:
    assert names(section("verdict.md", "Status")) == {*map(str, Status)}
    assert names(section("verdict.md", "Relation")) == {*map(str, Relation)}


def reasons() -> set[str]:
    """Return the reasons for which a page is unchecked, from the source."""
    source = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    pattern = r'(?<!def )\bunchecked\([^,()]*(?:\([^()]*\))?[^,()]*, "([\w-]+)"'
    literal = re.findall(pattern, source)
    literal += [
        part for found in re.findall(r"UncheckedPage\(([^()]*)\)", source) for part in re.findall(r'"([\w-]+)"', found)
    ]
    names_of_reasons = (
        "BINARY|TOO_LARGE|TOO_MANY_ATTRIBUTES|TOO_DEEP|TOO_SLOW|SKIPPED|LITTLE_READ|OTHER_(?:ITEM|PAGE)|UNREADABLE"
        "|TEMPLATE|SOFT_404"
    )
    named = re.findall(rf'^(?:{names_of_reasons}) = "([\w-]+)"', source, re.MULTILINE)
    refused = re.findall(r'return "([\w-]+)"', (PACKAGE / "crawl" / "responses.py").read_text("utf-8"))
    decoded = re.findall(r'\breason="([\w-]+)"', source)
    return {*literal, *named, *refused, *decoded, "index", "empty", "consent"}


def test_every_reason_has_a_row_and_no_other_has() -> None:
    assert names(section("verdict.md", "Reason")) == reasons()


# -- detectors ----------------------------------------------------------------------------------

#: Another value of every constant that has one in all detectors that have it.
OTHER: dict[str, Any] = {
    "threshold": 0.7,
    "length_ratio": 1.3,
    "length_slack": 300,
    "ends": "sentences",
    "containment": 0.8,
    "slots": 64,
    "characters": 4,
    "words": 4,
    "filed": 24,
    "miss_weight": 0.6,
    "size": 8,
    "tolerance": 1,
    "kept": 24,
    "share": 0.6,
    "num_perm": 64,
    "permutation_seed": 2,
    "minima": 42,
    "super_shingles": 3,
    "needed": 1,
    "count": 9,
    "equal": 5,
    "variant": 3,
    "difference": 0.02,
    "lowest": 0.1,
    "highest": 0.9,
    "least_share": 0.1,
    "least_terms": 7,
    "lexicons": 5,
    "dropped": 0.4,
    "differing": 4,
    "length_difference": 0.1,
    "tau": 0.5,
    "chain": 1,
    "least": 3,
    "bits": 128,
    "distance": 2,
    "blocks": 5,
    "weights": "occurrences",
    "title_weight": 1,
    "keywords_weight": 1,
    "text_weight": 2,
    "anchors_weight": 2,
    "agreement": 370,
    "segmenter": "rjieba",
    "tokens": "characters",
    "permutations": "affine64",
    "seed": 5,
}
#: What cannot be changed by itself: it changes the scheme together with another constant, or needs a file.
TOGETHER = {("random_projection", "bits")}


def test_every_detector_has_a_section_and_no_other_has() -> None:
    assert headings("detectors.md") == list(DETECTORS)


@pytest.mark.parametrize("name", DETECTORS)
def test_every_constant_has_a_row_with_its_default(name: str) -> None:
    table = {row[0].strip("`"): row for row in rows(section("detectors.md", name))}
    constants = {field.name: field for field in fields(DETECTORS[name]) if field.init}  # type: ignore[arg-type]
    assert list(table) == list(constants)
    for constant, field in constants.items():
        shown = re.fullmatch(r"`(.*)`", table[constant][1])
        if shown:
            assert ast.literal_eval(shown[1]) == field.default, constant
        else:
            assert not isinstance(field.default, int | float | str), constant


@pytest.mark.parametrize("name", [each for each in DETECTORS if each != "combined"])
def test_what_shapes_a_store_is_marked(name: str) -> None:
    table = {row[0].strip("`"): row for row in rows(section("detectors.md", name))}
    detector: Any = DETECTORS[name]()
    for constant, row in table.items():
        if constant in OTHER and (name, constant) not in TOGETHER:
            other = replace(detector, **{constant: OTHER[constant]})
            assert (row[2] == "●") is (dict(other.scheme()) != dict(detector.scheme())), constant


@pytest.mark.parametrize("name", DETECTORS)
def test_the_evidence_of_a_detector_is_listed(name: str) -> None:
    listed = {
        each: row for row in rows(section("verdict.md", "Evidence")) for each in re.findall(r"`([\w-]+)`", row[0])
    }
    shown = set(re.findall(r"`(\w+)`", listed[name][1]))
    with Deduplicator(detectors=[name]) as dedup:
        first = Page.from_text(f"{ICE} {ENGLISH}", "https://a.example/1")
        dedup.add(first)
        evidence = next(
            iter(found.match.evidence for found in dedup.findings(replace(first, url="https://b.example/2"))), {}
        )
    assert evidence, name
    if name == "combined":
        return
    assert set(evidence) <= shown
    assert shown - set(evidence) <= {"summary", "difference"}


# -- Python and the commands --------------------------------------------------------------------


def test_every_public_name_has_a_section() -> None:
    assert set(dedupcrawl.__all__) <= set(headings("api.md"))
    assert all(hasattr(dedupcrawl, each) or "." in each for each in headings("api.md"))


def test_every_method_of_the_deduplicator_is_named() -> None:
    text = section("api.md", "Deduplicator")
    public = {name for name in vars(Deduplicator) if not name.startswith("_") and callable(getattr(Deduplicator, name))}
    assert {name for name in public if f"`{name}" not in text} == set()


def test_every_field_of_the_configuration_is_named() -> None:
    text = section("api.md", "Config")
    assert [field.name for field in fields(Config) if f"`{field.name}`" not in text] == []


@pytest.mark.parametrize(("path", "template"), measured.PAGES.items(), ids=["en", "zh", "scaling", "security"])
def test_what_is_measured_is_what_the_stored_results_say(path: Path, template: str) -> None:
    page = path.read_text("utf-8")
    assert measured.BEGIN in page
    assert page == measured.renewed(page, template), "python docs/making/measured.py"


def test_results_name_no_folder_of_a_machine() -> None:
    for name, found in measured.results().items():
        assert found["benchmark"] == name
        assert not re.search(r"(^| )/", found["command"])


def test_commands_and_their_options_are_as_the_command_says() -> None:
    _, command = next(commands())
    if not hasattr(command.params[0], "type_descriptor"):
        pytest.skip("docs/commands.md is made with the Typer of requirements.txt, and this one is older")
    for page, words in PAGES.items():
        assert page.read_text("utf-8") == renewed(page.read_text("utf-8"), words), "python docs/making/commands.py"
    assert headings("commands.md") == [name for name, _ in commands()]


def test_the_journey_of_a_page_lists_the_files_that_a_page_passes() -> None:
    if not features.is_compiled() or compiled.description() != "compiled":
        pytest.skip("the list is that of the compiled code")
    listed = re.findall(r"^(\d+)\. `(\S+\.py)`: ", section("design.md", "The journey of a page"), re.MULTILINE)
    assert [int(number) for number, _ in listed] == [*range(1, len(listed) + 1)]
    command = [sys.executable, "-m", "benchmarks.journey", "--list", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert {file for _, file in listed} == {*json.loads(done.stdout)["list"]}


def test_the_design_names_no_file_that_is_gone() -> None:
    named = {*re.findall(r"`((?:\w+/)*\w+\.(?:py|pyx|lua))`", (DOCS / "design.md").read_text("utf-8"))}
    folders = (ROOT / name for name in ("benchmarks", "docs", "dedupcrawl", "tests"))
    files = [path.as_posix() for folder in folders for path in folder.rglob("*.*")] + [str(ROOT / "setup.py")]
    assert sorted(name for name in named if not any(file.endswith(f"/{name}") for file in files)) == []


def test_pictures_are_small_and_used() -> None:
    pages = "".join(path.read_text("utf-8") for path in DOCS.rglob("*.md"))
    for path in (DOCS / "pictures").glob("*.webp"):
        assert path.stat().st_size < 150_000, path
        assert f"pictures/{path.name}" in pages, f"{path} is on no page"
