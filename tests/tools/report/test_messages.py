"""Every text of the pages has its Chinese, and a page is shown in the language that is asked for."""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from jinja2.ext import babel_extract

from dedupcrawl import config
from dedupcrawl.config import Config
from dedupcrawl.decision import UNCHECKED_REASONS, Status, Verdict
from dedupcrawl.detectors.base import Assessment, Detector, Relation, no_assessment
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.identity import siblings
from dedupcrawl.ledger.ledger_schema import Outcome
from dedupcrawl.matching import BY_URL, SIBLINGS
from dedupcrawl.page.model import Kind, Page
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.signatures import EVIDENCE, OTHER
from dedupcrawl.sites.site_counts import NoticeKind, SiteNotice
from dedupcrawl.text.features import Features
from dedupcrawl.tools.inspect import comparison, inspection
from dedupcrawl.tools.inspect.render import render
from dedupcrawl.tools.inspect.rules import RULES
from dedupcrawl.tools.report import (
    charts,
    from_batch,
    from_ledgers,
    from_store,
    html_report,
    report_builder,
    report_model,
)
from dedupcrawl.tools.report.html_bundle import LanguageCode, assemble_page, chinese, page_languages
from dedupcrawl.tools.report.html_report import render_report
from dedupcrawl.utils.messages import ENGLISH, MessageTable
from tests.browser import DESKTOP, PHONE, browsing
from tests.texts import CHINESE
from tests.texts import ENGLISH as ENGLISH_TEXT
from tests.tools.report.sample_reports import demo_report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

PACKAGES = ("report", "inspect", "label")
#: What the variable parts of a note may be; any other is a number.
PARTS = {
    "were": ("were", "was"),
    "are": ("are", "is"),
    "some": ("The pages have", "7 of 9 pages have", "all pages", "7 pages, chosen by hash,"),
    "of_dropped": ("all 7", "7 of the 9"),
    "chosen": (", chosen by cluster", ""),
    "one_in": ("", " (looked for among one in 7 pages)"),
    "assigned": ("", " or of --set"),
    "source": ("the project", "the defaults"),
    "what": ("pairs are shown with their texts and all evidence", "noted pages are in the table"),
}
_han = re.compile(r"[\u4e00-\u9fff]").search
_english = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}").search  #: three words
_call = re.compile(r"\btr\(\s*")
_string = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def is_chinese(text: str) -> bool:
    return _han(text) is not None and _english(text) is None


def used_messages(package: str) -> set[str]:
    """Return the messages of the templates and scripts of a package."""
    found: set[str] = set()
    for file in (files(f"dedupcrawl.tools.{package}") / "web").iterdir():
        text = file.read_text("utf-8")
        if file.name.endswith(".html"):
            options = {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}
            for _, _, texts, _ in babel_extract(io.BytesIO(text.encode()), ["_"], [], options):
                assert texts
                found.add(texts if isinstance(texts, str) else str(texts[0]))
        elif file.name.endswith(".js"):
            for call in _call.finditer(text):
                string = _string.match(text, call.end())
                assert string, f"{file.name}: tr needs a literal: {text[call.start() : call.end() + 40]}"
                found.add(json.loads(string[0]))
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_message_of_a_page_has_its_chinese(package: str) -> None:
    known = chinese(f"dedupcrawl.tools.{package}").messages
    assert {each for each in used_messages(package) if each not in known} == set()


def test_there_is_no_chinese_without_its_message() -> None:
    used = set().union(*map(used_messages, PACKAGES)) | {"bytes"}  # a unit of sizes
    known = [each for package in PACKAGES for each in chinese(f"dedupcrawl.tools.{package}").messages]
    assert {each for each in known if each not in used} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_message_has_one_translation(package: str) -> None:
    """Of two entries JSON keeps the last one, without a word."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return dict(pairs)

    text = (files(f"dedupcrawl.tools.{package}") / "web" / "zh.json").read_text("utf-8")
    json.loads(text, object_pairs_hook=note)
    assert twice == []


def test_translations_use_the_words_of_the_documentation() -> None:
    for package in PACKAGES:
        messages = chinese(f"dedupcrawl.tools.{package}")
        assert [each for each in (*messages.messages.values(), *messages.sentences.values()) if "文本" in each] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_translations_have_the_same_values(package: str) -> None:
    messages = chinese(f"dedupcrawl.tools.{package}")
    for english, translation in (*messages.messages.items(), *messages.sentences.items()):
        assert sorted(re.findall(r"\{\w+\}", translation)) == sorted(re.findall(r"\{\w+\}", english)), english
        bare = re.sub(r"\{\w+\}", "", translation)
        assert _han(bare) or not re.search(r"[A-Za-z]{2}", bare), english


# -- sentences that come in English ----------------------------------------------------------------


@pytest.fixture(scope="module")
def zh() -> MessageTable:
    return chinese("dedupcrawl.tools.inspect")  # with those of the report


def verdicts() -> Iterator[Verdict]:
    evidence: dict[str, object] = {
        "slots": "119 of 128",
        EVIDENCE: OTHER,
        "lengths": [1000, 1020],
        SIBLINGS: siblings.VALUES,
    }
    evidence |= {"new_in_old": 0.9, "old_in_new": 0.8}
    for relation in Relation:
        one = Verdict("https://a.example/2", Status.DUPLICATE, keep=False, relation=relation, of="https://a.example/1")
        yield one
        yield replace(one, detector=BY_URL)
        yield replace(one, similarity=0.93, detector="minhash", evidence=evidence)
        yield replace(one, similarity=0.93, detector="minhash", supersedes="https://a.example/1")
        for name in report_model._COUNTED:
            yield replace(one, similarity=1.0, detector="minhash", evidence={name: "3 of 4"})
    for reason in UNCHECKED_REASONS:
        yield Verdict("https://a.example/2", Status.UNCHECKED, keep=True, reason=reason)
    yield Verdict("https://a.example/2", Status.UNCHECKED, keep=True, reason="claimed", of="https://a.example/1")
    yield Verdict("https://a.example/2", Status.UNIQUE, keep=True)


def test_every_verdict_has_its_chinese(zh: MessageTable) -> None:
    for verdict in verdicts():
        told = zh.sentence(report_model.verdict_sentence(verdict))
        assert is_chinese(told), told
        assert "slots" not in told
        assert not verdict.of or verdict.of in told


def test_every_name_of_a_verdict_has_its_chinese(zh: MessageTable) -> None:
    names = (*Status, *Outcome, *Relation, *UNCHECKED_REASONS, *charts._RELATION_MEANINGS.values())
    kinds = [f"{kind} page" for kind in Kind]
    ways = [
        value for name, value in vars(siblings).items() if name.isupper() and isinstance(value, str) and value != OTHER
    ]
    frames = [name for name in inspection.PLACEHOLDERS.values() if name not in {"applet", "frame"}]
    assert [each for each in (*map(str, names), *kinds, *ways, *frames) if not is_chinese(zh.sentence(each))] == []


def test_every_result_has_its_chinese(zh: MessageTable) -> None:
    figures = demo_report().figures
    reasons = dict.fromkeys(UNCHECKED_REASONS, 7)
    for segment in charts.outcome_bar(replace(figures, unchecked=reasons)):
        assert is_chinese(zh.sentence(segment.name))
        assert is_chinese(zh.sentence(segment.meaning)), segment.meaning


def test_every_rule_of_reading_has_its_chinese(zh: MessageTable) -> None:
    for rule in RULES.values():
        assert is_chinese(zh.sentence(rule.reason)), rule.reason
        assert is_chinese(zh.sentence(rule.meaning)), rule.meaning
        assert rule.sign in "✓R" or is_chinese(zh.sentence(rule.sign)), rule.sign
    signs = [zh.sentence(rule.sign) for rule in RULES.values() if rule.family != "kept"]
    assert len({*signs}) == len(signs)


def assessments(detector: Detector) -> Iterator[Assessment]:
    for text in (ENGLISH_TEXT, CHINESE):
        prints = [detector.fingerprint(Features(Page.from_text(each))) for each in (text, text[: len(text) // 2])]
        sketches = [each.sketch if each else b"" for each in prints]
        yield no_assessment(detector.name, sketches[0], b"")
        if all(sketches):
            yield detector.assess(sketches[0], sketches[1])
            yield detector.assess(sketches[1], sketches[0])


@pytest.mark.parametrize("detector", build_detectors(Config(detectors=list(DETECTORS))), ids=lambda one: one.name)
def test_every_condition_of_a_detector_has_its_chinese(detector: Detector, zh: MessageTable) -> None:
    for assessment in assessments(detector):
        texts = [threshold.measure for threshold in (*assessment.thresholds, *assessment.part_thresholds)]
        texts += [*(piece.unit for piece in assessment.evidence), assessment.silent]
        assert [text for text in texts if text and not is_chinese(zh.sentence(text))] == []


def notes_of(module: ModuleType) -> Iterator[list[str]]:
    """Yield the notes that a module makes, each with other variable parts."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        made: ast.expr | None = None
        if isinstance(node, ast.Yield):
            made = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            made = node.args[0]
        elif isinstance(node, ast.FunctionDef) and node.name in {"note", "_omission_note", "_with_threshold"}:
            made = node.body[-1].value if isinstance(node.body[-1], ast.Return) else None
        if isinstance(made, ast.JoinedStr) or (isinstance(made, ast.Constant) and isinstance(made.value, str)):
            yield [*samples(made)]


def samples(note: ast.JoinedStr | ast.Constant) -> Iterator[str]:
    """Yield a note with each of the variable parts that it may have."""
    made = [""]
    for part in note.values if isinstance(note, ast.JoinedStr) else [note]:
        if isinstance(part, ast.Constant):
            choices: tuple[str, ...] = (str(part.value),)
        else:
            assert isinstance(part, ast.FormattedValue)
            choices = choices_of(part.value)
        made = [before + choice for before in made for choice in choices]
    yield from made


def choices_of(value: ast.expr) -> tuple[str, ...]:
    """Return what a variable part of a note may be."""
    if isinstance(value, ast.Name):
        return PARTS.get(value.id, ("7",))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "counted":
        noun = value.args[1]
        assert isinstance(noun, ast.Constant)
        return f"7 {noun.value!s}s", f"1 {noun.value!s}"
    is_plural = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)
    return ("s", "") if is_plural else ("7",)


@pytest.mark.parametrize(
    "module",
    [from_ledgers, from_batch, from_store, report_builder, html_report, inspection, comparison, config],
    ids=lambda module: module.__name__,
)
def test_every_note_has_its_chinese(module: ModuleType, zh: MessageTable) -> None:
    found = [note for note in notes_of(module) if " " in note[0].strip()]
    assert found
    for note in found:
        assert any(is_chinese(zh.sentence(each)) for each in note), note


def test_every_fixed_note_has_its_chinese(zh: MessageTable) -> None:
    inspected = (inspection._UNPLACED, inspection._OWN, inspection._OWN_BLOCKS, *inspection._KINDS.values())
    problem = "The report is not complete: the disk is full"
    for note in (*inspected, *from_store._NOT_STORED, from_store._KEPT, problem):
        assert _han(zh.sentence(note)), note


ALIKE = SiteNotice(NoticeKind.ALIKE, "a.example", 30, ("https://a.example/1", "https://a.example/2"), repeats=6)


@pytest.mark.parametrize(
    "notice",
    [
        ALIKE,
        replace(ALIKE, siblings=23, crowded=29, sources=2),
        replace(ALIKE, siblings=23, elsewhere=1, crowded=22, sources=1, is_sample=True),
        replace(ALIKE, repeats=0, elsewhere=20, crowded=19, sources=3),
        replace(ALIKE, kind=NoticeKind.SIBLINGS, siblings=60, group=52),
        replace(ALIKE, kind=NoticeKind.UNREAD, repeats=0, unread={"empty": 20, "index": 9}, is_sample=True),
    ],
)
def test_every_notice_about_a_site_has_its_chinese(notice: SiteNotice, zh: MessageTable) -> None:
    told = zh.sentence(f"{notice.text}.")
    assert _han(told)
    assert not re.search(r"[a-z]{3,}", told.replace("a.example", "")), told
    assert _han(zh.sentence(notice.advice))


# -- languages of a page --------------------------------------------------------------------------


def test_values_are_filled_in_once() -> None:
    assert MessageTable("zh-CN", {"{a} of {b}": "{b} 之 {a}"}).text("{a} of {b}", a="{b}", b=2) == "2 之 {b}"
    assert ENGLISH.text("{a} of {b}", a=1) == "1 of {b}"
    assert ENGLISH.sentence("near-duplicate") == "near-duplicate"


def test_a_page_is_made_in_one_language_or_in_both() -> None:
    assert [each.language for each in page_languages(LanguageCode.AUTO)] == ["en", "zh-CN"]
    for language, lang, word, other in (
        (LanguageCode.EN, "en", "Results", "结果"),
        (LanguageCode.ZH, "zh-CN", "结果", "Results"),
    ):
        html = render_report(demo_report(), language=language)
        assert f'<html lang="{lang}">' in html
        assert f">{word}</h2>" in html
        assert f">{other}</h2>" not in html


def test_numbers_sizes_and_times_have_their_units() -> None:
    zh = chinese()
    assert [zh.amount(each) for each in ("999 bytes", "1.5 kB", "2 h 1 min", "28 s")] == [
        "999 字节", "1.5 kB", "2 小时 1 分", "28 秒",
    ]  # fmt: skip
    assert [zh.sentence(each) for each in ("Mar 2026", "7 Nov", "22:14")] == ["2026年3月", "11月7日", "22:14"]


@pytest.mark.parametrize(("locale", "lang"), [("zh-CN", "zh-CN"), ("zh-TW", "zh-CN"), ("en-GB", "en"), ("de", "en")])
def test_the_page_follows_the_browser_and_the_button(tmp_path: Path, locale: str, lang: str) -> None:
    file = tmp_path / "page.html"
    languages = page_languages(LanguageCode.AUTO)
    file.write_text(assemble_page("frame.html", title="Batch b", languages=languages), "utf-8")
    shown = "[document.documentElement.lang, document.title, document.querySelector('.skip').textContent]"
    texts = {"en": ["en", "Batch b", "Skip to the content"], "zh-CN": ["zh-CN", "批处理 b", "跳到正文"]}
    with browsing(locale=locale) as tab:
        tab.open(file)
        assert tab.page.evaluate(shown) == texts[lang]
        other = "zh-CN" if lang == "en" else "en"
        with tab.page.expect_navigation():  # the page is loaded again: until then it may be half of itself
            tab.page.locator("[data-language-toggle]").click()
        assert tab.page.evaluate(shown) == texts[other]
        tab.open(file)
        assert tab.page.evaluate(shown) == texts[other]
        assert (tab.errors, tab.requests) == ([], [])


def test_counts_are_told_without_english_words(zh: MessageTable) -> None:
    assert zh.sentence("119 of 128 slots agree") == "119/128 个槽一致"


def test_the_browser_translates_as_python_does(tmp_path: Path) -> None:
    zh = chinese()
    told = [report_model.verdict_sentence(verdict) for verdict in verdicts()]
    told += [each.replace("{", "").replace("}", " 7") for each in zh.sentences] + [
        "119 of 128 slots agree",
        f"{ALIKE.text}.",
        "{what}",
        "a (b) [c]",
    ]
    file = tmp_path / "page.html"
    file.write_text(assemble_page("frame.html", title="x", languages=(zh,)), "utf-8")
    with browsing() as tab:
        tab.open(file)
        assert tab.page.evaluate("told => told.map((each) => language.sentence(each))", told) == [
            *map(zh.sentence, told)
        ]
        filled = "language.message('{first} to {last} of {n} pages', { first: 1, last: '{n}', n: 3 })"
        assert tab.page.evaluate(filled) == zh.text("{first} to {last} of {n} pages", first=1, last="{n}", n=3)


# -- the Chinese pages in a browser ----------------------------------------------------------------

#: The texts and labels of a page that are English sentences, without those of crawled pages.
_LEFT = """() => {
  const crawled = 'bdi, code, kbd, pre, [dir=auto], .texts, .text, .url, .figures, #canvas, .passage, template, '
    + 'script, style, noscript';
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(crawled)) found.push(walk.currentNode.data);
  for (const name of ['aria-label', 'title', 'placeholder']) {
    for (const each of document.querySelectorAll(`[${name}]`)) {
      if (!each.closest('#canvas, bdi, template')) found.push(each.getAttribute(name));
    }
  }
  return found.filter((text) => /[A-Za-z]{3,} [A-Za-z]{2,}/.test(text.replace(/dedupcrawl \\w+/g, '')));
}"""


@pytest.mark.parametrize(("size", "dark"), [(DESKTOP, False), (PHONE, True)], ids=["desk", "phone"])
def test_the_chinese_report_is_chinese_and_can_be_read(tmp_path: Path, size: tuple[int, int], dark: bool) -> None:
    file = tmp_path / "report.html"
    report = replace(demo_report(), notes=("Clusters are those of one in 8, chosen by hash.",), sites=(ALIKE,))
    told = [report_model.relation_text(Relation(row.relation), row.of) if row.relation else "" for row in report.pages]
    report = replace(report, pages=tuple(replace(row, why=why) for row, why in zip(report.pages, told, strict=True)))
    file.write_text(render_report(report), "utf-8")
    with browsing(size, dark=dark, locale="zh-CN") as tab:
        tab.open(file)
        tab.page.wait_for_selector("[data-ready]", state="attached")
        tab.page.locator("figure summary").first.click()
        tab.page.locator(".cluster summary").first.click()
        tab.rest()
        assert tab.page.evaluate(_LEFT) == []
        assert (tab.grave(), tab.is_wider_than_screen()) == ([], False)
        for place in (
            report.misses[0],
            next(at for at, pair in enumerate(report.pairs) if pair.relation == "identical"),
        ):
            tab.page.evaluate("place => location.hash = `#pair-${place}`", place)
            tab.page.locator("dialog[open] .sides").wait_for()
            assert tab.page.evaluate(_LEFT) == []
        for row in (report.pages[1], next(row for row in report.pages if row.of)):
            tab.page.evaluate("url => location.hash = panel.toPage(url)", row.url)
            tab.page.get_by_role("heading", name="网页及其判定").wait_for()
            assert tab.page.evaluate(_LEFT) == []
        assert (tab.errors, tab.requests) == ([], [])


def test_the_chinese_inspection_is_chinese_and_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    links = "".join(f"<li><a href=/{place}>Other story {place}</a>" for place in range(9))
    page = inspection.inspect_page(
        f"<title>T</title><nav>x <a href=/>Home</a></nav><ul>{links}</ul><h1>{CHINESE[:9]}</h1><p>{CHINESE}</p>"
        f"<p>{CHINESE} <a href=/x>more</a></p><div class=share>Share</div>",
        "https://a.example/",
        ReadOptions(blocks=True),
    )
    other = comparison.compare_with_page(page.page, Page.from_text(CHINESE[: len(CHINESE) // 2]), Config())
    file.write_text(render(page, None, other), "utf-8")
    with browsing(PHONE, dark=True, locale="zh-CN") as tab:
        tab.open(file)
        tab.page.wait_for_selector("html[data-ready]", state="attached")
        tab.page.locator(".legend-of-signs summary").click()
        for sign in tab.page.locator("button.sign").all():
            sign.click()
            assert tab.page.evaluate(_LEFT) == []
            title, label = (sign.get_attribute(name) or "" for name in ("title", "aria-label"))
            assert _han(title)
            assert not re.search(r"[a-z]{4,}", re.sub("class|share", "", label)), label
        assert (tab.grave(), tab.is_wider_than_screen()) == ([], False)
        tab.page.get_by_role("tab").last.click()
        assert tab.page.evaluate(_LEFT) == []
        assert (tab.errors, tab.requests) == ([], [])
