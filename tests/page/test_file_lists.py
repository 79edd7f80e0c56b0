"""A link to a file is content, also in a list before or after the text, and it counts when pages are compared."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from dedupcrawl import Deduplicator, Page, read_page
from dedupcrawl.detectors.base import Relation
from dedupcrawl.identity.siblings import FILES
from dedupcrawl.page import compiled
from dedupcrawl.page.blocks import LINK, MARK, UNLINK, BlockTree, build_block_tree, build_by_reference
from dedupcrawl.page.file_lists import file_blocks
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.rules import EDGE, MAIN_TEXT, OUTSIDE, SIDE_CLASS
from dedupcrawl.text.features import compared_text
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND

File = tuple[str, str]  #: target and label
THIRD, FOURTH = PARAGRAPH[::-1], SECOND[::-1]
TRACKS = [
    *("Morning over the river", "The old harbour", "Lantern song", "Winter at the mill"),
    *("Meadow in the rain", "Silver bells", "Thunder from the west", "The last carousel"),
]
OTHER_TRACKS = [
    *("A quiet evening", "Candles on the stairs", "Iron gates", "Autumn letters"),
    *("On the hill", "The anchor maker", "Seven swallows", "Goodbye to the north"),
]
TEXTS = {
    "short": f"<p>{PARAGRAPH}</p><p>{SECOND}</p>",
    "long": f"<p>{PARAGRAPH}</p><p>{SECOND}</p><p>{THIRD}</p><p>{FOURTH}</p>",
    "zh": f"<p>{CHINESE}</p><p>{CHINESE_TWO}</p>",
}
LISTS = {
    "ul": "<ul>{}</ul>|<li>{}</li>",
    "table": "<table>{}</table>|<tr><td>1</td><td>{}</td><td>3:21 min</td></tr>",
    "paragraphs": "{}|<p>{}</p>",
    "boxes": "<div class=downloads>{}</div>|<div>{}</div>",
    "lines": "<div>{}</div>|{}<br>",
    "row": "<p>{}</p>|{} &bull; ",
}
PLACES = {
    "after": "<div id=c><h1>Album</h1>{text}{files}</div>",
    "before": "<div id=c><h1>Album</h1>{files}{text}</div>",
    "under a heading": "<article><h1>Album</h1>{text}<h2>Downloads</h2>{files}</article>",
    "beside": "<main><h1>Album</h1><div class=body>{text}</div><div class=more>{files}</div></main>",
    "above": "<h1>Album</h1><div class=more>{files}</div><div class=body>{text}</div>",
}
AROUND = "<title>Album</title><nav><a href=/>Home</a></nav>{}<footer>Imprint</footer>"


def listed(kind: str, labels: list[str]) -> str:
    whole, entry = LISTS[kind].split("|")
    links = (f'<a href="/music/{place}.mp3">{label}</a>' for place, label in enumerate(labels))
    return whole.format("".join(map(entry.format, links)))


def album(place: str, kind: str, text: str, labels: list[str], host: str = "a") -> Page:
    body = PLACES[place].format(text=TEXTS[text], files=listed(kind, labels))
    return read_page(AROUND.format(body), f"https://{host}.example/album")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("place", PLACES)
def test_a_list_of_files_beside_the_text_is_read_and_compared(place: str, kind: str, text: str) -> None:
    page = album(place, kind, text, TRACKS)
    assert [track for track in TRACKS if track not in page.text] == []
    assert [track for track in TRACKS if track not in compared_text(page)] == []


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("place", PLACES)
def test_an_introduction_with_other_files_is_no_copy(place: str, kind: str, text: str) -> None:
    with Deduplicator() as dedup:
        assert dedup.add(album(place, kind, text, TRACKS)).keep
        verdict = dedup.add(album(place, kind, text, OTHER_TRACKS, host="b"))
        assert verdict.keep
        assert verdict.relation is not Relation.IDENTICAL
        assert not dedup.add(album(place, kind, text, TRACKS, host="c")).keep


LONG = "".join(f"<p>{' '.join(random.Random(seed).sample(PARAGRAPH.split(), 30))}.</p>" for seed in range(16))
FEW = {
    "items": (TRACKS[:4], OTHER_TRACKS[:4], "<ul>{}</ul>", '<li><a href="/f/{place}.mp3">{label}</a> (3.2 MB)</li>'),
    "two": (TRACKS[:2], OTHER_TRACKS[:2], "<p>Files: {}</p>", '<a href="/f/{place}.pdf">{label}</a>, '),
    "names in cells": (
        TRACKS[:4],
        OTHER_TRACKS[:4],
        "<table><tr><th>Track<th>Length<th>File</tr>{}</table>",
        '<tr><td>{label}<td>3:21<td><a href="/f/{place}.mp3">MP3</a></tr>',
    ),
    "a part with a class": (
        TRACKS[:4],
        OTHER_TRACKS[:4],
        '<div class="download-box widget"><h3>Downloads</h3>{}</div>',
        '<p><a href="/f/{place}.mp3">{label}</a></p>',
    ),
    "players": (TRACKS[:4], OTHER_TRACKS[:4], "{}", '<div>{label} <a href="/f/{place}.mp3">Listen (MP3)</a></div>'),
    "zh": (
        ["清晨的河", "旧港"],
        ["安静的夜晚", "铁门"],
        "<ul>{}</ul>",
        '<li><a href="/f/{place}.zip">{label}</a></li>',
    ),
}


def long_album(kind: str, which: int, place: str, host: str) -> Page:
    entry, whole = FEW[kind][3], FEW[kind][2]
    labels = FEW[kind][which]
    files = whole.format("".join(entry.format(place=at, label=label) for at, label in enumerate(labels)))
    return read_page(AROUND.format(PLACES[place].format(text=LONG, files=files)), f"https://{host}.example/album")


@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("place", ["after", "before", "beside"])
@pytest.mark.parametrize("host", ["a", "b"])
def test_a_few_files_tell_two_pages_with_one_long_introduction_apart(kind: str, place: str, host: str) -> None:
    with Deduplicator() as dedup:
        assert dedup.add(long_album(kind, 1, place, "a.x")).keep
        assert dedup.add(long_album(kind, 0, place, "a")).keep
        verdict = dedup.add(long_album(kind, 1, place, f"{host}.y"))
        assert not verdict.keep
    with Deduplicator() as dedup:
        first, second = long_album(kind, 0, place, "a"), long_album(kind, 1, place, host)
        dedup.add(first)
        verdict = dedup.add(replace(second, url=f"{second.url}/2"))
        assert (verdict.keep, verdict.evidence.get("siblings")) == (True, FILES)


def test_other_files_at_the_same_url_are_an_update() -> None:
    with Deduplicator() as dedup:
        dedup.add(long_album("items", 0, "after", "a"))
        assert dedup.add(long_album("items", 1, "after", "a")).relation is Relation.UPDATED


def test_links_to_files_in_sentences_are_no_list() -> None:
    sentence = f'<p>{PARAGRAPH} See <a href="/a.pdf">the report of the mill</a> and <a href="/b.pdf">its map</a>.</p>'
    assert read_page(f"<div>{LONG}{sentence}</div>").files == b""
    assert read_page(f'<div>{LONG}<p><a href="/a.pdf">The report of the mill</a></p></div>').files == b""


def test_the_heading_and_the_cells_of_a_list_come_with_it() -> None:
    page = album("under a heading", "table", "long", TRACKS)
    assert page.text.split("\n")[4:9] == ["Downloads", "1", TRACKS[0], "3:21 min", "1"]
    assert page.text.endswith(f"{TRACKS[-1]}\n3:21 min")


def test_a_single_file_in_the_part_of_the_text_stays() -> None:
    body = f"<div>{TEXTS['long']}<div><a href=/a/brochure.pdf>The brochure (PDF)</a></div></div>"
    assert read_page(body).text.endswith("The brochure (PDF)")


def test_files_among_links_to_pages_stay() -> None:
    links = "<li><a href=/wiki/mills>Mills of the district</a></li>" * 4
    body = f"<div>{TEXTS['long']}<h2>See also</h2><ul>{links}<li><a href=/a/mill.pdf>The mill (PDF)</a></li></ul></div>"
    assert "The mill (PDF)" in read_page(body).text
    assert "Mills of the district" not in read_page(body).text


def test_one_file_of_the_site_is_no_list() -> None:
    body = f"<div id=c>{TEXTS['long']}</div><div id=d><a href=/terms.pdf>Terms of use</a></div>"
    assert "Terms of use" not in read_page(body).text


def test_files_behind_links_to_pages_belong_to_the_site() -> None:
    link = "<div><a href=/a>All articles of the week</a></div>"
    body = f"<div id=c>{TEXTS['long']}</div><div id=d>{link}<div>{listed('ul', TRACKS)}</div></div>"
    assert TRACKS[0] not in read_page(body).text


def test_a_side_part_of_files_goes() -> None:
    body = f"<div id=c>{TEXTS['long']}</div><div class=sidebar>{listed('ul', TRACKS)}</div>"
    assert TRACKS[0] not in read_page(body).text


# -- which blocks have links to files ---------------------------------------------------------------


def tree_of(stream: str) -> BlockTree:
    options = ReadOptions()
    found = build_by_reference(stream, options)
    if compiled.blocks is not None:
        assert build_block_tree(stream.encode(), options) == found
    return found


def link(target: str, label: str) -> str:
    return f"{LINK}{target}\ufdd3{label}{UNLINK}"


@pytest.mark.parametrize(
    ("marked", "files"),
    [
        (link("/a.mp3", "song"), {0: 1}),
        (link("/a.html", "page"), {}),
        (link("", "anchor"), {}),
        (f"{link('/a.mp3', 'song')} {link('/b.mp3', 'other')}", {0: 2}),
        (f"{link('/a.mp3', 'song')} {link('/b', 'pg')}", {0: 1}),
        (f"a longer text with {link('/a.mp3', 'song')}", {0: 0}),
        ("text", {}),
    ],
)
def test_links_to_files_are_counted(marked: str, files: dict[int, int]) -> None:
    assert tree_of(f"{MARK}p{MARK}{marked}{MARK}{MARK}").files == files


def test_a_link_around_blocks_reaches_into_them() -> None:
    card = f"{MARK}h3{MARK}Data sheet{MARK}{MARK}{MARK}p{MARK}2 MB{MARK}{MARK}"
    tree = tree_of(f"{MARK}div{MARK}{LINK}/a.pdf\ufdd3{card}{UNLINK} end")
    assert [block[0] for block in tree.blocks] == ["Data sheet", "2 MB", "end"]
    assert tree.files == {0: 1, 1: 1, 2: 0}


def test_without_a_main_text_nothing_is_joined() -> None:
    tree = tree_of(f"{MARK}p{MARK}{link('/a.mp3', 'song')}{MARK}{MARK}")
    assert file_blocks(tree, [OUTSIDE]) == []
    assert file_blocks(tree, [MAIN_TEXT]) == []
    assert file_blocks(BlockTree(), []) == []


def test_only_blocks_that_were_removed_for_their_position_are_joined() -> None:
    tree = tree_of(f"{MARK}p{MARK}text{MARK}{MARK}{MARK}p{MARK}{link('/a.mp3', 'song')}{MARK}{MARK}")
    assert file_blocks(tree, [MAIN_TEXT, EDGE]) == [1]
    assert file_blocks(tree, [MAIN_TEXT, SIDE_CLASS]) == []
