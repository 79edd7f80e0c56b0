"""Reports for the tests of the page: one with real verdicts on the demo, one with attacks in all texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from dedupcrawl import Deduplicator, Page
from dedupcrawl.decision import Verdict
from dedupcrawl.detectors.base import Assessment, Evidence, Match, Relation, Threshold
from dedupcrawl.ledger.counters import FlowCount, Histogram, HostCount, RunCounts, SliceCount
from dedupcrawl.sites.site_counts import NoticeKind, SiteNotice
from dedupcrawl.tools.demo.corpus import load_content, write_story
from dedupcrawl.tools.report.diff import compare_texts
from dedupcrawl.tools.report.report_model import Change, ClusterRow, PageRow, Pair, Report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.stores.base import Record

BEGIN = 1_700_000_000.0
STEP = 7.0  #: seconds between two pages
DETECTORS = ("exact", "feature_code", "minhash", "simhash")

ATTACKS = (
    "</script><script>alert(1)</script>",
    "<!-- --!> ]]> <script>alert(2)</script>",
    "\"'><img src=x onerror=alert(3)>",
    "<svg onload=alert(4)><style>@import 'http://127.0.0.1:9/a.css'</style>",
    "javascript:alert(5)",
    "\u202egnp.exe\u2066 \u2028 \u2029 \ufeff",
    "\x00\x01\x08\x7f\x85",
    "\ud800 half \udfff",
    "{{ 7 * 7 }} {% raw %} ${7*7} $& $1 \\u003c",
    "w" * 3_000,
    "data:text/html,<script>alert(6)</script>",
    "https://a.example/\"onmouseover='alert(7)'<b>",
    "__proto__",
)


@cache
def demo_report() -> Report:
    """Return a report with real verdicts on all pages of the demo."""
    return _Judged().report()


class _Judged:
    """Verdicts on the pages of the demo."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, str]] = {}  # URL → title and text
        self.records: dict[str, Record] = {}
        self.verdicts: list[Verdict] = []
        content = load_content()
        with Deduplicator("memory://", detectors=DETECTORS) as dedup:
            for page in sorted(content.pages, key=content.published):
                story = write_story(content, page)
                url = f"https://{page.site}.example{page.path}"
                self.texts[url] = story.title, story.text
                self._judge(dedup, Page.from_text(story.text, url, story.title))
            self.pairs = self._pairs(dedup)

    def _judge(self, dedup: Deduplicator, page: Page) -> None:
        record = dedup.fingerprint(page)
        self.verdicts.append(record if isinstance(record, Verdict) else dedup.add(page))
        if not isinstance(record, Verdict):
            self.records[page.url] = record

    def _pairs(self, dedup: Deduplicator) -> tuple[Pair, ...]:
        related = [
            self._pair(dedup, each.url, each.of, str(each.relation), each.detector or "")
            for each in self.verdicts
            if each.of in self.records and each.url in self.records
        ]
        return (*related, *self._near(dedup))

    def _near(self, dedup: Deduplicator) -> list[Pair]:
        kept = [each.url for each in self.verdicts if each.keep and not each.of and each.url in self.records]
        pairs = [self._pair(dedup, new, old, "", "") for place, new in enumerate(kept) for old in kept[:place][-6:]]
        return sorted(pairs, key=lambda pair: -(pair.similarity or 0))[:25]

    def _pair(self, dedup: Deduplicator, new: str, old: str, relation: str, decided: str) -> Pair:
        assessments = dedup.assessments(self.records[new], self.records[old])
        asked = [each.similarity or 0 for each in assessments if decided in ("", each.detector)]
        compared = compare_texts(self.texts[old][1], self.texts[new][1])
        titles = self.texts[new][0], self.texts[old][0]
        similarity = max(asked, default=None)
        return Pair(new, old, *titles, assessments, relation, decided, similarity, compared.changes, compared.is_cut)

    def report(self) -> Report:
        rows = self._rows()
        clusters = _clusters(rows)
        dropped = [row for row in rows if row.outcome == "dropped"]
        return Report(
            title="Crawl of the spider news",
            kind="crawl",
            version="0.1.0",
            made=BEGIN + 9_000,
            began=BEGIN,
            ended=BEGIN + STEP * len(rows),
            figures=_figures(rows),
            settings={"DEDUP_DETECTORS": ", ".join(DETECTORS), "DEDUP_THRESHOLD": "0.8"},
            notes=("The texts of 3 pages were longer than 20,000 characters, and are cut.",),
            slices=_slices(rows),
            hosts=_hosts(rows),
            flows=tuple(
                FlowCount(copy, source, pages)
                for (copy, source), pages in Counter((row.host, _host(row.of)) for row in dropped).most_common()
            ),
            detectors=Counter(row.detector for row in dropped),
            histograms=self._histograms(),
            pages=rows,
            clusters=clusters,
            pairs=self.pairs,
            misses=tuple(place for place, pair in enumerate(self.pairs) if not pair.relation),
        )

    def _rows(self) -> tuple[PageRow, ...]:
        places = {pair.new: place for place, pair in enumerate(self.pairs) if pair.relation}
        return tuple(
            self._row(verdict, BEGIN + STEP * number, places.get(verdict.url))
            for number, verdict in enumerate(self.verdicts)
        )

    def _row(self, verdict: Verdict, time: float, pair: int | None) -> PageRow:
        title, text = self.texts[verdict.url]
        return PageRow(
            verdict.url,
            title,
            _host(verdict.url),
            time,
            len(text.encode()) + 9_000,
            str(verdict.status),
            "kept" if verdict.keep else "dropped",
            str(verdict.relation or ""),
            verdict.of or "",
            verdict.cluster or "",
            verdict.similarity,
            verdict.detector or "",
            verdict.reason or "",
            f"{verdict.relation} of {verdict.of} by {verdict.detector}" if verdict.of else "",
            pair,
        )

    def _histograms(self) -> tuple[Histogram, ...]:
        edges = tuple(bin / 20 for bin in range(21))
        made = []
        for detector in DETECTORS:
            said = [each for pair in self.pairs for each in pair.assessments if each.detector == detector]
            matched, missed = [0] * 20, [0] * 20
            for each in said:
                if each.similarity is not None:
                    (matched if each.match else missed)[min(int(each.similarity * 20), 19)] += 1
            made.append(Histogram(detector, None if detector == "exact" else 0.8, edges, tuple(matched), tuple(missed)))
        return tuple(made)


def _host(url: str) -> str:
    return url.split("/")[2]


def _figures(rows: Sequence[PageRow]) -> RunCounts:
    checked = [row for row in rows if row.status != "unchecked"]
    relations = [(row.status, row.relation) for row in checked if row.relation]
    return RunCounts(
        pages=len(rows),
        checked=len(checked),
        kept=sum(row.outcome == "kept" for row in rows),
        dropped=sum(row.outcome == "dropped" for row in rows),
        duplicates=Counter(relation for status, relation in relations if status == "duplicate"),
        related=Counter(relation for status, relation in relations if status == "unique"),
        unchecked=Counter(row.reason for row in rows if row.status == "unchecked"),
        bytes=sum(row.bytes for row in rows),
        bytes_saved=sum(row.bytes for row in rows if row.outcome == "dropped"),
        requests_saved=37,
    )


def _slices(rows: Sequence[PageRow]) -> tuple[SliceCount, ...]:
    made = []
    for start in range(0, len(rows), 4):
        of = Counter("unchecked" if row.status == "unchecked" else row.outcome for row in rows[start : start + 4])
        made.append(SliceCount(BEGIN + STEP * start, of["kept"], of["dropped"], of["unchecked"]))
    return tuple(made)


def _hosts(rows: Sequence[PageRow]) -> tuple[HostCount, ...]:
    outcomes: Mapping[str, Counter[str]] = {row.host: Counter() for row in rows}
    for row in rows:
        outcomes[row.host][row.outcome] += 1
    hosts = [HostCount(name, of.total(), of["kept"], of["dropped"]) for name, of in outcomes.items()]
    return tuple(sorted(hosts, key=lambda host: -host.pages))


def _clusters(rows: Sequence[PageRow]) -> tuple[ClusterRow, ...]:
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row.cluster, []).append(place)
    made = [
        ClusterRow(
            name,
            len(of),
            len({rows[place].host for place in of}),
            rows[of[0]].time,
            rows[of[-1]].time,
            rows[of[0]].title,
            tuple(of),
        )
        for name, of in places.items()
        if name and len(of) > 1
    ]
    return tuple(sorted(made, key=lambda cluster: -cluster.size))


def hostile_report() -> Report:
    """Return a report with an attack in every text that a page provides, and non-finite numbers."""
    rows = tuple(_hostile_row(place, attack) for place, attack in enumerate((*ATTACKS, "x" * 5_000_000)))
    pairs = tuple(_hostile_pair(attack) for attack in ATTACKS)
    return Report(
        title=ATTACKS[0] + ATTACKS[6],
        kind="crawl",
        version="0.1.0",
        made=float("inf"),
        began=-1e18,
        ended=1e18,
        figures=RunCounts(14, 14, 0, 14, {ATTACKS[0]: 14}, {}, {ATTACKS[1]: 1}),
        sites=tuple(
            SiteNotice(kind, attack, 14, (attack, ATTACKS[4]), repeats=14, unread={attack: 14})
            for attack in ATTACKS
            for kind in NoticeKind
        ),
        settings=dict(zip(ATTACKS, ATTACKS, strict=True)),
        notes=ATTACKS,
        slices=(SliceCount(0, 1, 2, 3), SliceCount(1e300, 0, 1, 0)),
        hosts=tuple(HostCount(attack, 0, 0, 0) for attack in ATTACKS),
        flows=tuple(FlowCount(attack, attack, 1) for attack in ATTACKS),
        detectors=dict.fromkeys(ATTACKS, 1),
        histograms=(Histogram(ATTACKS[0], 0.8, (0.0, 0.5, 1.0), (1, 1), (1, 0)),),
        pages=rows,
        clusters=tuple(
            ClusterRow(attack, 3, 1, None if place else float("nan"), 1.0, attack, (place,))
            for place, attack in enumerate(ATTACKS)
        ),
        pairs=(*pairs, *(replace(pair, relation="", decided="") for pair in pairs)),
        misses=tuple(range(len(pairs), 2 * len(pairs))),
    )


def _hostile_row(place: int, attack: str) -> PageRow:
    time = None if place % 3 else float("nan")
    texts = dict.fromkeys(("relation", "of", "cluster", "detector", "reason", "why"), attack)
    return PageRow(attack, attack, attack, time, 1, "duplicate", "dropped", similarity=float("nan"), pair=0, **texts)


def _hostile_pair(attack: str) -> Pair:
    assessment = Assessment(
        attack,
        Match(1.0, Relation.IDENTICAL, {attack: attack}),
        float("nan"),
        {attack: attack, "nested": [{attack: [attack]}], "large": 2**64, "odd": float("inf")},
        (Threshold(attack, 0.8, float("nan"), at_least=True),),
        (Evidence(attack, "10" * 9_000, (attack,), (attack,), (attack,)),),
        attack,
    )
    changes = (Change(attack, attack), Change("old " + attack, "new " + attack), Change(attack * 2, attack * 2))
    return Pair(
        attack, attack, attack, attack, (assessment,), "near-duplicate", attack, float("inf"), changes, is_cut=True
    )
