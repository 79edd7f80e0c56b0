"""A report of the maximum size, with texts that compress like real ones."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from itertools import accumulate
from random import Random

from dedupcrawl.text.lexicon import read_counts
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.report.report_model import Change, ClusterRow, PageRow, Report
from tests.tools.report.sample_reports import BEGIN, demo_report

_HOSTS = 200
_COPIES = 0.4
_SECTIONS = ("news", "world", "sport", "business", "culture", "science", "assessment", "local")


def large_report(rows: int = 50_000, texts: int = 300) -> Report:
    """Generate a report: two fifths of its pages are duplicates, a third of its titles are Chinese.

    Args:
        rows: of the table of pages.
        texts: pairs of texts, each of some 3,000 characters.
    """
    made_up = _MadeUp(Random(rows))
    demo = demo_report()
    pages = made_up.pages(rows)
    pairs = tuple(
        replace(
            demo.pairs[place % len(demo.pairs)], new=pages[place].url, old=pages[place].of, changes=made_up.changes()
        )
        for place in range(min(texts, rows))
    )
    misses = tuple(place for place, pair in enumerate(pairs) if not pair.relation)
    rows_with_pairs = tuple(
        replace(page, pair=place if place < len(pairs) else None) for place, page in enumerate(pages)
    )
    return replace(demo, pages=rows_with_pairs, clusters=_clusters(pages), pairs=pairs, misses=misses)


class _MadeUp:
    """Random titles, URLs and texts with real word frequencies; real ones compress better."""

    def __init__(self, chance: Random) -> None:
        lexicon = files("dedupcrawl.text") / "data" / "en.lexicon.gz"
        frequencies = read_counts(lexicon.read_bytes()).frequencies
        self._words = list(frequencies)
        self._weights = list(accumulate(frequencies.values()))
        chinese = (each.paragraphs for each in load_content().articles.values() if each.language == "zh")
        self._characters = [one for paragraphs in chinese for one in "".join(paragraphs) if one > "\u4e00"]
        self._chance = chance

    def pages(self, rows: int) -> tuple[PageRow, ...]:
        made: list[PageRow] = []
        for number in range(rows):
            is_copy = made and self._chance.random() < _COPIES
            made.append(self._copy(number, self._chance.choice(made[-2_000:])) if is_copy else self._new(number))
        return tuple(sorted(made, key=lambda page: page.outcome))

    def _new(self, number: int) -> PageRow:
        title = self._title()
        cluster = f"{self._chance.getrandbits(48):012x}"
        return self._row(number, title, cluster)

    def _row(self, number: int, title: str, cluster: str) -> PageRow:
        host = f"www.{self._words[self._chance.randrange(_HOSTS)]}-daily.example"
        chance = self._chance
        slug = "-".join(word.lower() for word in title.split() if word.isascii()) or f"{chance.getrandbits(40):x}"
        day = f"2026/11/{chance.randrange(1, 30):02}"
        url = f"https://{host}/{chance.choice(_SECTIONS)}/{day}/{slug}-{number}.html"
        time = BEGIN + number * 0.37 + chance.random()
        return PageRow(url, title, host, time, chance.randrange(8_000, 200_000), "unique", "kept", cluster=cluster)

    def _copy(self, number: int, first: PageRow) -> PageRow:
        chance = self._chance
        title = first.title if chance.random() < 0.6 else self._title()
        row = self._row(number, title, first.cluster)
        similarity = 0.8 + 0.2 * chance.random()
        lengths = chance.randrange(300, 9_000), chance.randrange(300, 9_000)
        of = first.of or first.url
        slots = round(128 * similarity)
        why = f"near-duplicate of {of}: {similarity:.0%} alike by minhash: {slots} of 128 slots agree"
        return replace(
            row,
            status="duplicate",
            outcome="dropped",
            relation="near-duplicate",
            of=of,
            similarity=similarity,
            detector="minhash",
            why=f"{why}, lengths {lengths[0]} and {lengths[1]}",
            pair=None,
        )

    def _title(self) -> str:
        if self._chance.random() < 1 / 3:
            return "".join(self._chance.choices(self._characters, k=self._chance.randrange(12, 26)))
        return self._prose(self._chance.randrange(6, 12)).capitalize()

    def _prose(self, words: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=words))

    def changes(self) -> tuple[Change, ...]:
        """Return two texts of about 3,000 characters, five paragraphs, with a change in four of them."""
        made = []
        for _ in range(4):
            same = self._prose(100) + "\n" + self._prose(20) + " "
            made += [Change(same, same), Change(self._prose(3), self._prose(2))]
        return tuple(made)


def _clusters(pages: tuple[PageRow, ...]) -> tuple[ClusterRow, ...]:
    places: dict[str, list[int]] = {}
    for place, page in enumerate(pages):
        places.setdefault(page.cluster, []).append(place)
    largest = sorted(places.values(), key=len, reverse=True)[:200]
    return tuple(_cluster(pages, sorted(of, key=lambda place: pages[place].time or 0)) for of in largest)


def _cluster(pages: tuple[PageRow, ...], of: list[int]) -> ClusterRow:
    rows = [pages[place] for place in of]
    hosts = len({row.host for row in rows})
    return ClusterRow(rows[0].cluster, len(of), hosts, rows[0].time, rows[-1].time, rows[0].title, tuple(of))
