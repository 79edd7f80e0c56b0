"""The pages that ``benchmarks.sites`` judges are what their labels say."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks.reprints import (
    COPY_EDITS,
    OTHER_EDITS,
    SLOT,
    TITLE,
    Reprint,
    Source,
    edited,
    load_sources,
    make_reprints,
    shingles,
)
from benchmarks.sites import judge
from dedupcrawl.config import Config
from tests.data import data

ADJECTIVES, NOUNS = ["grey", "tall", "quiet", "late", "plain"], ["mill", "bridge", "orchard", "well", "tower"]


def source(number: int) -> Source:
    """Return an article whose words no other one has, and a template around it."""
    sentences = [
        f"The{number} {a}{number} {n}{number} {number}x{place}." for a in ADJECTIVES for n in NOUNS for place in "ab"
    ]
    paragraphs = tuple(" ".join(sentences[at : at + 5]) for at in range(0, len(sentences), 5))
    menu = "".join(f'<li><a href="/{number}/{name}">{name}</a></li>' for name in NOUNS)
    template = f"<html><title>{TITLE}</title><body><ul>{menu}</ul><div class='a{number}'>{SLOT}</div></body></html>"
    return Source(f"source{number}", template, paragraphs, is_chinese=False)


SOURCES = [source(number) for number in range(8)]


def similarity(one: list[str], other: list[str]) -> float:
    mine, others = (shingles("\n".join(texts)) for texts in (one, other))
    return len(mine & others) / len(mine | others)


@pytest.mark.parametrize("edit", COPY_EDITS)
def test_copies_have_nearly_the_same_text(edit: str) -> None:
    texts = edited(edit, SOURCES[0], random.Random(1))
    assert similarity(texts, [*SOURCES[0].paragraphs]) >= 0.8


@pytest.mark.parametrize("edit", OTHER_EDITS)
def test_other_texts_differ(edit: str) -> None:
    texts = edited(edit, SOURCES[0], random.Random(1), SOURCES[1].paragraphs)
    assert similarity(texts, [*SOURCES[0].paragraphs]) <= 0.75


def test_an_edit_in_chinese() -> None:
    chinese = replace(SOURCES[0], paragraphs=("今天（星期一）下雨。", "明天放晴。"), is_chinese=True)
    assert edited("width", chinese, random.Random(1)) == ["今天(星期一)下雨.", "明天放晴."]


def test_the_seed_decides() -> None:
    assert make_reprints(SOURCES, 1, 4, 3) == make_reprints(SOURCES, 1, 4, 3)
    assert make_reprints(SOURCES, 1, 4, 3) != make_reprints(SOURCES, 2, 4, 3)


def test_sites_are_templates() -> None:
    pages = make_reprints(SOURCES, 1, 8, 2)
    assert len({page.url for page in pages}) == len(pages) == 8 * 6
    assert len({page.url.split("/")[2] for page in pages}) == 2
    assert all(SLOT not in page.html and TITLE not in page.html for page in pages)


def test_pages_on_drawn_hosts() -> None:
    hosts = {page.url.split("/")[2] for page in make_reprints(SOURCES, 1, 8, 0, hosts=400)}
    assert len(hosts) > 30


def test_verdicts_are_counted() -> None:
    one, other = (f"<p>{' '.join(each.paragraphs)}</p>" for each in SOURCES[:2])
    rows = [("a", one, "1"), ("b", one, "1"), ("c", one, "2"), ("d", other, "2"), ("e", f"{one}{other}", "1")]
    pages = [Reprint(f"https://{host}.example/", html, cluster, "") for host, html, cluster in rows]
    outcome = judge("made", pages, Config(min_chars=20))
    found = outcome.to_dict()
    assert (found["right"], found["wrong"], found["missed"]) == (1, 1, 2)
    assert [what for what, _, _ in outcome.mistakes] == ["wrong", "missed", "missed"]


def test_the_parts_have_no_host_in_common() -> None:
    folders = [data("pages", "cwced")]
    parts = [{each.name for each in load_sources(folders, part)} for part in (0, 1)]
    assert all(len(part) >= 10 for part in parts)
    assert not parts[0] & parts[1]
