"""The compiled walk, blocks and block model against their references: the stylesheet, Python and numpy."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree, html

from dedupcrawl.page import PageError, ReadOptions, block_features, compiled, read_tree
from dedupcrawl.page.block_features import (
    FEATURES,
    REASONS,
    BlockFeatures,
    features_by_reference,
    features_in_c,
    is_familiar,
    left_out_bytes,
    text_size,
)
from dedupcrawl.page.block_model import (
    QUANTUM,
    UNIT,
    best_choice,
    load_model,
    needs_no_model,
    probabilities,
    promised_gain,
    unread_bytes,
)
from dedupcrawl.page.block_reader import alternative_texts, classify, texts_aside, texts_by_reason
from dedupcrawl.page.blocks import (
    ANCHOR,
    BLOCKS,
    BREAK,
    IGNORED,
    LANDMARKS,
    LINK,
    MARK,
    NAMED_BLOCKS,
    NOTE,
    UNLINK,
    BlockTree,
    build_block_tree,
    build_by_reference,
    flatten,
    flatten_by_stylesheet,
    flatten_fast,
)
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.notices import offsets_of
from dedupcrawl.page.rules import FILE_TYPES, SEPARATORS, SideKind
from dedupcrawl.page.scoring import ContainerScores, choice_rules, classify_blocks
from dedupcrawl.page.structure import repeated_blocks
from dedupcrawl.tools.evaluation.extraction import load_pages
from dedupcrawl.utils.optional import NO_EXTENSIONS
from tests.data import data
from tests.hostile.shapes import BODIES, MARKUP
from tests.page.samples import CHINESE, PARAGRAPH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element
    from numpy.typing import NDArray

OPTIONS = ReadOptions()
MODES = [(False, False), (True, False), (True, True), (False, True)]
SHORT = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
needs_walk = pytest.mark.skipif(compiled.walk is None, reason=f"page reading: {compiled.description()}")
needs_choice = pytest.mark.skipif(compiled.choice is None, reason=f"page reading: {compiled.description()}")
needs_features = pytest.mark.skipif(compiled.features is None, reason=f"page reading: {compiled.description()}")
needs_trees = pytest.mark.skipif(compiled.trees is None, reason=f"page reading: {compiled.description()}")
needs_blocks = pytest.mark.skipif(compiled.blocks is None, reason=f"page reading: {compiled.description()}")


def assert_same_streams(root: _Element, *, by_walk: bool = True) -> None:
    """Check the compiled walk against the stylesheet; ``by_walk``: the tree is not left to the stylesheet."""
    for landmarks, embedded in MODES:
        stream = flatten_fast(root, open_landmarks=landmarks, open_embedded=embedded)
        assert isinstance(stream, bytes) == by_walk
        expected = flatten_by_stylesheet(root, open_landmarks=landmarks, open_embedded=embedded)
        assert (stream.decode() if isinstance(stream, bytes) else stream) == expected


def assert_same_trees(stream: str, options: ReadOptions = OPTIONS) -> None:
    assert build_block_tree(stream.encode(), options) == build_by_reference(stream, options)


def assert_same_features(tree: BlockTree, reasons: list[str]) -> None:
    """Check the compiled features against numpy, to the last bit."""
    found, expected = features_in_c(tree, reasons), features_by_reference(tree, reasons)
    assert found is not None
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(
        (*found[0], found[1]), (*expected[0], expected[1]), strict=True
    )
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


def assert_same_scores(
    monkeypatch: pytest.MonkeyPatch, tree: BlockTree, reasons: list[str], options: ReadOptions
) -> None:
    """Check the compiled scores and sums of blocks against Python."""
    found = ContainerScores(tree)
    results: list[object] = [found.score_blocks(tree.blocks, options)]
    expected = ContainerScores(tree)
    assert results == [expected.score_by_reference(tree.blocks, options)]
    assert vars(found) == vars(expected)
    sums = []
    for module in (compiled.features, None):
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "features", module)
            unread = unread_bytes(tree.blocks, reasons)
            settled = [needs_no_model(tree, reasons, kept, unread) for kept in (0, 300, 3000)]
            sums.append((unread, settled, left_out_bytes(tree, reasons), text_size(tree), is_familiar(tree)))
    assert sums[0] == sums[1]


def test_they_are_built_where_a_compiler_is() -> None:
    if (shutil.which("cc") or shutil.which("gcc")) and not os.environ.get(NO_EXTENSIONS):
        assert compiled.description() == "compiled", "the extensions are not built: run `make install`"


# -- the walk ---------------------------------------------------------------------------------------


@needs_walk
@SHORT
@given(MARKUP)
def test_streams_of_any_markup(markup: str) -> None:
    try:
        root = parse(markup)
    except PageError:
        return
    assert_same_streams(root)


@needs_walk
@SHORT
@given(BODIES)
def test_streams_of_any_body(body: bytes) -> None:
    try:
        root = parse(to_text(body, encoding=None, content_type="", max_bytes=OPTIONS.max_bytes))
    except PageError:
        return
    assert_same_streams(root)
    assert_same_trees(flatten(root))


@needs_walk
@pytest.mark.parametrize(("name", "step"), [("aeb", 1), ("cwced", 1), ("wcxb", 5)])
def test_streams_and_blocks_of_labelled_pages(name: str, step: int) -> None:
    for page in load_pages(data("pages", name), lambda rows: rows[::step]):
        root = parse(to_text(page.html, encoding=None, content_type="", max_bytes=OPTIONS.max_bytes))
        for landmarks, embedded in MODES:
            stream = flatten_by_stylesheet(root, open_landmarks=landmarks, open_embedded=embedded)
            assert flatten_fast(root, open_landmarks=landmarks, open_embedded=embedded) == stream.encode()
            assert_same_trees(stream)


TAGS = sorted(
    {
        *BLOCKS,
        *LANDMARKS,
        *IGNORED,
        *["a", "br", "head", "title", "meta", "link", "time", "script", "span", "my-app", "html", "body"],
    }
)
NAMES = [
    "class",
    "id",
    "href",
    "lang",
    "content",
    "name",
    "property",
    "itemprop",
    "http-equiv",
    "rel",
    "type",
    "datetime",
    "itemtype",
    "data-x",
]
TYPES = ["https://schema.org/QAPage", '{"@type": "DiscussionForumPosting"}']
VALUES = [
    *["canonical", "application/ld+json", "x y", "", "/a.zip", '"datePublished": "2024-05-06"', "é\u3000z", "\n"],
    *TYPES,
]
PRINTED = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=8)
TEXTS = st.sampled_from([" ", "\n\t", '{"datePublished"', *VALUES]) | PRINTED


def _element(tag: str, attributes: dict[str, str], text: str, children: list[_Element]) -> _Element:
    element = etree.Element(tag, attributes)
    element.text = etree.CDATA(text) if len(text) % 5 == 4 and "]]>" not in text else text
    element.extend(children)
    return element


LEAVES = st.one_of(
    TEXTS.map(lambda text: etree.Comment(text.replace("-", ""))),
    TEXTS.map(lambda text: etree.ProcessingInstruction("p", text.replace("?", "").lstrip())),
    TEXTS.map(lambda text: _element("p", {}, text, [])),
)


def _with_tail(pair: tuple[_Element, str]) -> _Element:
    pair[0].tail = pair[1]
    return pair[0]


TREES = st.recursive(
    st.tuples(LEAVES, TEXTS).map(_with_tail),
    lambda inner: st.tuples(
        st.builds(
            _element,
            st.sampled_from([*TAGS, "{http://www.w3.org/1999/xhtml}p", "{urn:a-b}x"]),
            st.dictionaries(st.sampled_from([*NAMES, "{urn:x}class"]), st.sampled_from(VALUES), max_size=3),
            TEXTS,
            st.lists(inner, max_size=5),
        ),
        TEXTS,
    ).map(_with_tail),
    max_leaves=20,
)


@needs_walk
@SHORT
@given(st.lists(TREES, min_size=1, max_size=6), st.integers(0, 1000))
def test_streams_of_trees_made_by_a_spider(parts: list[_Element], choice: int) -> None:
    root = _element("html", {"lang": "en"}, "", [_element("head", {}, "x", parts[:3]), *parts[3:]])
    assert_same_streams(root)
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    assert_same_streams(elements[choice % len(elements)])  # a part of a tree is read as a page of its own


@needs_walk
@pytest.mark.parametrize(
    "change",
    [
        lambda root: root.body.append(html.fromstring("<div class=new>added<br>later</div>")),
        lambda root: root.body.remove(root.body[0]),
        lambda root: root.head.clear(),
        lambda root: root.drop_tag() if root.getparent() is not None else root.body.drop_tag(),
        lambda root: root.body.set("class", "é"),
        lambda root: root.addprevious(etree.Comment("before")),
        lambda root: root.addnext(etree.ProcessingInstruction("after", "the root")),
        lambda root: setattr(root, "tail", "\n"),
        lambda root: etree.strip_tags(root, "p", "a"),
        lambda root: etree.strip_elements(root, "h1", with_tail=False),
    ],
)
def test_streams_of_changed_pages(change: object) -> None:
    assert callable(change)
    source = f"<!DOCTYPE html><html lang=en><head><title>T</title></head><body><h1>H</h1><p>{PARAGRAPH}<a href=x>y</a>"
    root = html.document_fromstring(source)
    change(root)
    assert_same_streams(root)
    assert_same_streams(copy.deepcopy(root))
    assert_same_streams(root[-1] if len(root) else root)


PICTURES = """
<img alt=one><a href=/x><b><img alt=two></b></a><p>text<img alt="three &amp; more"><img alt=""><img></p><!-- c -->
<nav><p><img alt=four></nav><div id=part><img alt=five><aside><img alt=six></aside><svg><img alt=seven></svg></div>
<footer id=last><p id=inside><img alt=eight></p></footer><img alt=nine>
"""


@needs_walk
def test_alternative_texts_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    page = parse(PICTURES)
    image = html.fragment_fromstring("<img alt=ten>")
    xhtml = etree.fromstring('<html xmlns="http://www.w3.org/1999/xhtml"><p><img alt="x"/></p></html>')
    unresolved = etree.fromstring(
        '<!DOCTYPE p [<!ENTITY e "x">]><p><img alt="&e;"/><i>&e;</i><img alt="y"/></p>',
        etree.XMLParser(resolve_entities=False),
    )
    parts = [element for element in page.iter() if element.get("id")]
    assert len(parts) == 3
    found = [alternative_texts(each) for each in (page, image, xhtml, unresolved, *parts)]
    assert found[0] == ["one", "three & more", "five", "seven", "nine"]
    monkeypatch.setattr(compiled, "walk", None)
    assert [alternative_texts(each) for each in (page, image, xhtml, unresolved, *parts)] == found


ASIDE = """
<p>before<aside>one<a href=/x>two<b>three</b></a><p>four<!-- c --><aside>five</aside>six<script>seven</script></p>
</aside>after<div id=part><select><aside>eight</aside></select><aside></aside><aside>nine</aside></div>
"""


@needs_walk
def test_texts_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    page = parse(ASIDE)
    xhtml = etree.fromstring('<html xmlns="http://www.w3.org/1999/xhtml"><aside>x</aside></html>')
    cdata = etree.fromstring("<p><aside>x<![CDATA[y]]></aside><?z z?></p>", etree.XMLParser(strip_cdata=False))
    unresolved = etree.fromstring(
        '<!DOCTYPE p [<!ENTITY e "x">]><p><aside>&e;y</aside></p>', etree.XMLParser(resolve_entities=False)
    )
    (part,) = (element for element in page.iter() if element.get("id"))
    loose = html.fragment_fromstring("<aside>loose</aside>")
    pages = page, xhtml, cdata, unresolved, part, loose
    found = [texts_aside(each) for each in pages]
    assert [text for each in found[0] if (text := each.strip())] == ["one", "four", "five", "six", "nine"]
    monkeypatch.setattr(compiled, "walk", None)
    assert [texts_aside(each) for each in pages] == found


@needs_walk
def test_a_part_of_a_page_is_read_alone() -> None:
    root = html.document_fromstring("<html lang=en><p>before</p><div id=a lang=de>inside</div>after<p>later</p>")
    part = root.find(".//div")
    assert part is not None
    assert_same_streams(part)
    assert "inside" in flatten(part)
    assert "after" not in flatten(part)
    assert "lang=de" in flatten(part)


@needs_walk
def test_xhtml_and_unresolved_entities() -> None:
    xhtml = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body><p class="x">y</p></body></html>'
    )
    assert_same_streams(etree.fromstring(xhtml))
    parser = etree.XMLParser(resolve_entities=False)
    for source in ("<html><p>a &e; b</p></html>", '<html><a href="&e;">b</a></html>', "<html><nav>&e;</nav></html>"):
        root = etree.fromstring(f'<!DOCTYPE html [<!ENTITY e "text">]>{source}', parser)
        assert_same_streams(root, by_walk=False)


@needs_walk
def test_a_tree_of_any_depth() -> None:
    root = innermost = etree.Element("html")
    for _ in range(20_000):
        innermost = etree.SubElement(innermost, "div")
    innermost.text = PARAGRAPH
    stream = flatten(root)
    assert stream.count(PARAGRAPH) == 1
    assert stream.count(MARK) == 3 + 4 * 20_000 + 1


@needs_walk
def test_a_large_text() -> None:
    root = html.document_fromstring(f"<p>{'x' * 9_000_000}<nav>{' y' * 1_000_000}</nav>")
    assert_same_streams(root)


@needs_walk
@pytest.mark.parametrize("source", [None, "<p>", 1, etree.Comment("x"), etree.ProcessingInstruction("x")])
def test_no_element(source: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        flatten(source)  # type: ignore[arg-type]


@needs_walk
def test_threads_read_one_tree_and_their_own() -> None:
    shared = parse(f"<title>T</title><p>{PARAGRAPH}<nav><a href=/x>y</a></nav>" * 50)
    expected = flatten_by_stylesheet(shared)
    failures: list[str] = []

    def read(number: int) -> None:
        for turn in range(60):
            own = parse(f"<p>{number} {turn} {CHINESE}" * 20)
            if flatten(shared) != expected or flatten(own) != flatten_by_stylesheet(own):
                failures.append(f"{number}, {turn}")

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# -- the blocks -------------------------------------------------------------------------------------

TARGETS = [
    "/a.html",
    "/a.mp3",
    "x.ZIP?q",
    "a.\u212am",
    ".m\u212av",
    ".MKV#x",
    "mp3",
    "?a.zip",
    "#place",
    "#",
    "",
    "é.7z",
]
HEADS = [
    "main",
    "article",
    "nav",
    "div a b",
    "p  ",
    "aside",
    "li",
    "h2",
    "div related",
    "div " + "é" * 300,
    NOTE + "n=v",
]
STREAMS = st.lists(
    st.one_of(
        st.sampled_from([MARK, MARK, MARK, LINK, LINK, ANCHOR, ANCHOR, UNLINK, UNLINK, BREAK, NOTE]),
        st.sampled_from(HEADS).map(lambda head: f"{MARK}{head}{MARK}"),
        st.sampled_from(TARGETS).map(lambda target: f"{LINK}{target}{ANCHOR}word{UNLINK}"),
        st.sampled_from(
            [*TARGETS, " ", "\n", "\u3000", "\xa0", "\u2003", "。", "|", "词语文字", "words of a text", *"().&"]
        ),
        st.text(max_size=4).map(lambda text: text.encode("utf-8", "replace").decode()),
    ),
    max_size=60,
).map("".join)


@needs_blocks
@settings(SHORT, max_examples=600)
@given(STREAMS, st.floats(0, 1), st.floats(0, 1), st.integers(0, 4))
def test_blocks_of_any_stream(stream: str, low: float, high: float, run: int) -> None:
    options = ReadOptions(link_density_content=min(low, high), link_density_noise=max(low, high), link_run=run)
    assert_same_trees(stream)
    assert_same_trees(stream, options)


@needs_blocks
def test_every_kind_of_character_beside_words_and_links() -> None:
    codes = [*range(0x3100), *range(0x3100, 0xD800, 61), *range(0xF000, 0x1_0000), *range(0x1_0000, 0x11_0000, 397)]
    for start in range(0, len(codes), 64):
        stream = ""
        for sign in map(chr, codes[start : start + 64]):
            linked = f"{LINK}/x{ANCHOR}a{UNLINK}{sign * 3}{LINK}/y.m{sign}{ANCHOR}b{UNLINK}."
            stream += f"{MARK}p{MARK}{sign}a{sign}b{sign}{MARK}p{MARK}{linked}"
        assert_same_trees(stream)


@needs_blocks
def test_every_file_type_and_separator() -> None:
    for ending in (*FILE_TYPES, *map(str.upper, FILE_TYPES), "html", "mp3x", "\0", "7z\0"):
        assert_same_trees(f"w {LINK}/a.{ending}{ANCHOR}b{UNLINK} {LINK}/a.{ending}?c#d{ANCHOR}b{UNLINK}")
    for sign in SEPARATORS:
        assert_same_trees(
            f"w {LINK}/a{ANCHOR}b{UNLINK}{sign * 3}{LINK}/c{ANCHOR}d{UNLINK}{sign}x{sign}{LINK}/e{ANCHOR}f"
        )


@needs_blocks
def test_a_stream_that_is_no_utf8_is_refused() -> None:
    for stream in (b"\xff", b"a\xef\xb7", b"\xef\xb7\x90\xff\xef\xb7\x90text", b"\xef"):
        with pytest.raises(UnicodeDecodeError):
            build_block_tree(stream, OPTIONS)


@needs_blocks
def test_deep_streams() -> None:
    assert_same_trees(f"{MARK}div a b{MARK}x" * 5000 + f"{MARK}{MARK}y" * 6000)


# -- the block model --------------------------------------------------------------------------------


@needs_features
@pytest.mark.parametrize(("name", "step"), [("aeb", 3), ("cwced", 3), ("wcxb", 5)])
def test_features_of_labelled_pages(monkeypatch: pytest.MonkeyPatch, name: str, step: int) -> None:
    for page in load_pages(data("pages", name), lambda rows: rows[::step]):
        root = parse(to_text(page.html, encoding=None, content_type="", max_bytes=OPTIONS.max_bytes))
        tree, reasons, _ = classify(root, OPTIONS)
        if tree.blocks:
            assert_same_features(tree, reasons)
        assert_same_scores(monkeypatch, tree, reasons, OPTIONS)
        found = read_tree(root)
        texts = alternative_texts(root), texts_aside(root)
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "walk", None)
            assert (alternative_texts(root), texts_aside(root)) == texts
        for module in ("features", "choice", "trees"):
            with monkeypatch.context() as patch:
                patch.setattr(compiled, module, None)
                assert read_tree(root) == found


@needs_features
@settings(SHORT, max_examples=400)
@given(
    STREAMS, st.integers(0, 2**32 - 1), st.sampled_from([OPTIONS, ReadOptions(link_run=0), ReadOptions(link_run=2**70)])
)
def test_scores_and_features_of_any_stream(
    monkeypatch: pytest.MonkeyPatch, stream: str, seed: int, options: ReadOptions
) -> None:
    tree = build_block_tree(stream, OPTIONS)
    generator = np.random.default_rng(seed)
    reasons = [str(reason) for reason in generator.choice([*REASONS, "of another reader"], len(tree.blocks))]
    if tree.blocks:
        assert_same_features(tree, reasons)
    assert_same_scores(monkeypatch, tree, reasons, options)
    sizes = generator.integers(0, 700, (len(tree.blocks), 2))
    tags = generator.choice(["p", "h2", "td", "li", "div"], len(tree.blocks))
    sized = [
        (block[0], int(size), int(min(size, links)), *block[3:5], str(tag), block[6])
        for block, (size, links), tag in zip(tree.blocks, sizes, tags, strict=True)
    ]
    assert_same_scores(monkeypatch, replace(tree, blocks=sized), reasons, options)


def assert_same_choice(monkeypatch: pytest.MonkeyPatch, tree: BlockTree, reasons: list[str]) -> None:
    """Check the compiled choice of containers and blocks against Python."""
    results = []
    for module in (compiled.choice, None):
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "choice", module)
            copied = replace(tree, sides=[*tree.sides])
            chosen = classify_blocks(copied, OPTIONS) if tree.blocks else None
            texts = [texts_by_reason(tree, reasons, named) for named in (-1, 0, len(tree.blocks) // 2)]
            results.append((chosen, texts, repeated_blocks(tree.blocks)))
    assert results[0] == results[1]


@needs_choice
@settings(SHORT, max_examples=400)
@given(STREAMS, st.integers(0, 2**32 - 1))
def test_choice_of_any_stream(monkeypatch: pytest.MonkeyPatch, stream: str, seed: int) -> None:
    tree = build_block_tree(stream, OPTIONS)
    generator = np.random.default_rng(seed)
    reasons = [str(reason) for reason in generator.choice([*REASONS, "of another reader"], len(tree.blocks))]
    assert_same_choice(monkeypatch, tree, reasons)
    sizes = generator.integers(1, 900, (len(tree.blocks), 2))
    tags = generator.choice(["p", "h1", "h2", "td", "li", "div", "pre", "dd", "figcaption"], len(tree.blocks))
    kinds = generator.choice(
        len(SideKind), len(tree.parents), p=[0.7, *[0.3 / (len(SideKind) - 1)] * (len(SideKind) - 1)]
    )
    sized = [
        (block[0], int(size), int(min(size, links)) if tag != "p" else 0, *block[3:5], str(tag), block[6])
        for block, (size, links), tag in zip(tree.blocks, sizes, tags, strict=True)
    ]
    changed = replace(
        tree,
        blocks=sized,
        sides=[[*SideKind][kind] for kind in kinds],
        is_discussion=seed % 5 == 0,
        posts=frozenset([1]) if seed % 5 == 0 and len(kinds) > 1 else frozenset(),
        around_posts=frozenset([0]) if seed % 3 == 0 else frozenset(),
    )
    assert_same_choice(monkeypatch, changed, reasons)


@needs_choice
@SHORT
@given(st.lists(st.text("abcjz\0é", min_size=1, max_size=4), max_size=4), st.text("abcjz\0é"))
def test_parts_are_found_where_python_finds_them(monkeypatch: pytest.MonkeyPatch, parts: list[str], text: str) -> None:
    arguments = [part.encode() for part in parts], text.encode()
    found = offsets_of(*arguments)
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "choice", None)
        assert offsets_of(*arguments) == found


@needs_choice
def test_choices_of_lists_that_do_not_fit_are_refused() -> None:
    choice, rules = compiled.choice, choice_rules()
    assert choice is not None
    tree, reasons, _ = classify(parse(f"<div><p>{PARAGRAPH}</p></div><div><p>{CHINESE}</p></div>"), OPTIONS)
    parents, count = tree.parents, len(tree.parents)
    numbers, scores, empty, none = [0] * count, [0.0] * count, [""] * count, frozenset[int]()
    backwards = [*reversed(parents)]
    outside = [(*tree.blocks[0][:6], count), *tree.blocks[1:]]
    for call in (
        lambda: choice.sum_descendants(parents, numbers, numbers, scores[1:]),
        lambda: choice.sum_descendants(backwards, numbers, [1] * count, scores),
        lambda: choice.sum_descendants([], [], [], []),
        lambda: rules.remove_side_parts(parents, tree.sides, empty, scores[1:], none, 1.0),
        lambda: rules.remove_side_parts(backwards, tree.sides, empty, scores, none, 1.0),
        lambda: rules.remove_poor(parents, scores, numbers, numbers, empty[1:], none),
        lambda: rules.remove_poor(backwards, scores, numbers, numbers, empty, none),
        lambda: rules.reasons_around(count, parents, empty),
        lambda: rules.reasons_around(0, backwards, empty),
        lambda: rules.assign_reasons(tree.blocks, reasons[1:], empty, none, False, bool),
        lambda: rules.assign_reasons(outside, [""] * len(outside), empty, none, False, bool),
        lambda: texts_by_reason(tree, reasons[1:], 0),
        lambda: offsets_of([b""], b"text"),
    ):
        with pytest.raises(ValueError):
            call()
    lists = [[*block] for block in tree.blocks]
    for wrong in (
        lambda: texts_by_reason(replace(tree, blocks=lists), reasons, 0),  # type: ignore[arg-type]
        lambda: repeated_blocks(lists),  # type: ignore[arg-type]
        lambda: rules.reasons_around(0, parents, numbers),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            wrong()


@needs_features
def test_scores_of_lists_that_do_not_fit_are_refused() -> None:
    tree, reasons, _ = classify(parse(f"<div><p>{PARAGRAPH}</p></div><div><p>{CHINESE}</p></div>"), OPTIONS)
    outside = [(*tree.blocks[0][:6], len(tree.parents)), *tree.blocks[1:]]
    for call in (
        lambda: ContainerScores(tree).score_blocks(outside, OPTIONS),
        lambda: unread_bytes(tree.blocks, reasons[1:]),
        lambda: left_out_bytes(tree, reasons[1:]),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        text_size(replace(tree, blocks=[[*block] for block in tree.blocks]))  # type: ignore[misc]


@needs_trees
@SHORT
@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_choice_of_any_blocks(monkeypatch: pytest.MonkeyPatch, count: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    chances = np.rint(generator.random(count) ** generator.integers(1, 9) / QUANTUM) * QUANTUM
    chances[generator.random(count) < 0.3] = generator.choice([0.0, 0.5, 1.0])
    lengths = generator.integers(1, 5000, count).astype(np.float64)
    kept = (generator.random(count) < 0.5).astype(np.float64)
    features = BlockFeatures(
        np.empty((count, 0), np.float32), np.empty(0), lengths, kept, np.zeros(count, np.bool_), False
    )
    found = []
    for module in (compiled.trees, None):
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "trees", module)
            keep = best_choice(chances, lengths)
            found.append((keep.tolist(), promised_gain(features, chances, keep)))
    assert found[0] == found[1]


@needs_trees
def test_choices_that_do_not_fit_are_refused() -> None:
    assert compiled.trees is not None
    three, four, keep = np.zeros(3), np.zeros(4), np.zeros(3, np.uint8)
    for arrays in ((four, three, keep), (three, four, keep), (three, three, keep[1:])):
        with pytest.raises(ValueError):
            compiled.trees.choose(*arrays)
        with pytest.raises(ValueError):
            compiled.trees.promised_gain(*arrays, three)
    with pytest.raises(ValueError):
        compiled.trees.promised_gain(three, three, keep, four)


@needs_features
def test_features_that_do_not_fit_are_refused() -> None:
    tree, reasons, _ = classify(parse(f"<div><p>{PARAGRAPH}</p></div><div><p>{CHINESE}</p></div>"), OPTIONS)
    assert compiled.features is not None
    fill = block_features._feature_rows().fill
    signs = [(0, 0, 0)] * len(tree.parents)
    count = len(tree.blocks)
    arrays = np.zeros((3, count)), np.zeros((3, count), np.int64), np.zeros((FEATURES, count), np.float32)
    fill(tree, reasons, signs, *arrays)
    outside = replace(tree, blocks=[(*tree.blocks[0][:6], len(tree.parents)), *tree.blocks[1:]])
    reversed_parents = replace(tree, parents=[len(tree.parents), *tree.parents[1:]])
    for pages in (
        (outside, reasons, signs, *arrays),
        (reversed_parents, reasons, signs, *arrays),
        (replace(tree, sides=[]), reasons, signs, *arrays),
        (replace(tree, blocks=[]), [], signs, *arrays),
        (tree, reasons[1:], signs, *arrays),
        (tree, reasons, signs[1:], *arrays),
        (tree, reasons, signs, arrays[0][1:], *arrays[1:]),
        (tree, reasons, signs, arrays[0], np.zeros((3, count + 1), np.int64), arrays[2]),
        (tree, reasons, signs, *arrays[:2], arrays[2][1:]),
    ):
        with pytest.raises(ValueError):
            fill(*pages)
    with pytest.raises(TypeError):
        fill(replace(tree, blocks=[[*block] for block in tree.blocks]), reasons, signs, *arrays)  # type: ignore[misc]


@needs_trees
@SHORT
@given(st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_sums_of_any_rows(count: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for trees in load_model():
        rows = generator.normal(0, 10, (count, int(trees.feature.max()) + 1)).astype(np.float32)
        pick = generator.integers(0, trees.limit.size, rows.shape)
        rows = np.where(generator.random(rows.shape) < 0.5, trees.limit.ravel()[pick], rows)  # equal to a limit
        rows[generator.random(rows.shape) < 0.01] = np.nan
        expected = trees.predict_by_reference(rows)
        assert trees.predict(rows).tolist() == expected.tolist() if count else expected.size == 0


@needs_trees
def test_trees_that_do_not_fit_are_refused() -> None:
    trees = load_model()[0]
    arrays = trees.feature, trees.limit, trees.left, trees.right, trees.value
    assert compiled.trees is not None
    forest = compiled.trees.ForestScores(*arrays)
    for columns, sums in (((1, 5), 5), ((64, 5), 4)):
        with pytest.raises(ValueError):
            forest.add_leaves(np.zeros(columns, np.float32), np.zeros(sums))
        for excluded in (5, 6):
            rows = np.zeros(columns, np.float32), np.zeros(excluded, np.uint8), np.zeros(sums)
            with pytest.raises(ValueError):
                forest.probabilities(*rows, UNIT, QUANTUM)
    for changed in (
        (*arrays[:4], trees.value[:3]),
        (*arrays[:4], np.zeros((len(trees.value), 33), np.float32)),
        (trees.feature - 99, *arrays[1:]),
        (trees.feature, trees.limit[:, 1:].copy(), *arrays[2:]),
    ):
        with pytest.raises(ValueError):
            compiled.trees.ForestScores(*changed)


@needs_trees
@SHORT
@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_probabilities_of_any_rows(monkeypatch: pytest.MonkeyPatch, count: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    trees, _ = load_model()
    values = generator.normal(0, 10, (FEATURES, count)).astype(np.float32)
    excluded = generator.random(count) < generator.random()
    zeros = np.zeros(count)
    features = BlockFeatures(values.T, zeros, zeros, zeros, excluded, is_familiar=False)
    found = probabilities(trees, features)
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "trees", None)
        assert found.tolist() == probabilities(trees, features).tolist()


@needs_trees
def test_all_probabilities_are_those_of_numpy() -> None:
    """No sum of leaves of our trees has another probability in C, whose ``exp`` may differ in the last bit."""
    value, exists = (each.astype(np.float64) for each in (load_model()[0].value, np.isfinite(load_model()[0].lefts)))
    lowest, highest = (int((sign * np.max(sign * value * exists - 1e9 * (1 - exists), 1)).sum()) for sign in (-1, 1))
    bits = (highest - lowest).bit_length()
    # One tree adds the lowest sum, each other one a power of two where its feature is 1.
    leaves = np.array([[lowest, lowest], *([0, 1 << bit] for bit in range(bits))], np.float32)
    feature = np.arange(-1, bits, dtype=np.intp).clip(0)[:, None]
    limit, left, right = (np.full((bits + 1, 1), number, kind) for number, kind in ((0.5, "f4"), (1, "u4"), (2, "u4")))
    assert compiled.trees is not None
    forest = compiled.trees.ForestScores(feature, limit, left, right, leaves)
    for first in range(0, highest - lowest + 1, 1 << 16):
        numbers = np.arange(first, min(first + (1 << 16), highest - lowest + 1))
        found, none = np.empty(len(numbers)), np.zeros(len(numbers), np.uint8)
        columns = (numbers >> np.arange(bits)[:, None] & 1).astype(np.float32)
        forest.probabilities(columns, none, found, UNIT, QUANTUM)
        expected = np.rint(1 / (1 + np.exp(-(numbers + lowest) / UNIT)) / QUANTUM) * QUANTUM
        assert np.array_equal(found, expected)


# -- where they are missing -------------------------------------------------------------------------

SCRIPT = """
from dedupcrawl.page import compiled, read_page
print(compiled.description())
print(read_page(open(0).read()))
"""


@pytest.mark.parametrize("value", ["", "1"])
def test_they_can_be_turned_off(value: str) -> None:
    source = (
        f"<title>T</title><nav><a href=/x>y</a></nav><p>{PARAGRAPH}<p>{CHINESE}<p>See <a href=/z.pdf>the report</a>."
    )
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, NO_EXTENSIONS: value},
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    description, _, page = run.stdout.strip().partition("\n")
    assert page == str(read_tree(parse(source), html=source))
    if value:
        parts = ("walk by libxslt", "blocks by Python", "features by numpy", "choice by Python", "model by numpy")
        assert description == ", ".join(f"{part} ({NO_EXTENSIONS} is set)" for part in parts)
    elif not os.environ.get(NO_EXTENSIONS):
        assert description == compiled.description()


def test_without_one_or_the_other_the_page_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    root = parse(f"<title>T</title><h1>H</h1><p>{PARAGRAPH}<ul><li><a href=/x>y</a><li>{CHINESE}</ul>")
    page = read_tree(root)
    monkeypatch.setattr(compiled, "walk", None)
    assert read_tree(root) == page
    monkeypatch.setattr(compiled, "blocks", None)
    assert read_tree(root) == page
    monkeypatch.undo()
    for name in ("blocks", "features", "choice", "trees"):
        monkeypatch.setattr(compiled, name, None)
        assert read_tree(root) == page


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("LXML_VERSION", (7, 0, 0, 0), "lxml 7.0.0.0 was not tested"),
        ("LXML_VERSION", (5, 2, 2, 0), "lxml 5.2.2.0 was not tested"),
        ("LIBXML_VERSION", (2, 99, 0), "libxml2 2.99.0 was not tested"),
        ("LIBXML_COMPILED_VERSION", (2, 9, 14), "libxml2 2.9.14 was not tested"),
    ],
)
def test_other_versions_are_left_to_the_stylesheet(
    monkeypatch: pytest.MonkeyPatch, name: str, version: tuple[int, ...], expected: str
) -> None:
    monkeypatch.setattr(etree, name, version)
    assert compiled.load_walk() == (None, expected)


def test_the_installed_versions_were_tested() -> None:
    assert not compiled.untested_version()


def test_an_empty_stream() -> None:
    assert build_block_tree("", OPTIONS) == build_block_tree(b"", OPTIONS) == BlockTree()
    assert NAMED_BLOCKS <= BLOCKS | LANDMARKS
