"""A report as one page: figures and charts in its markup, pages and pairs as data that its scripts show.

A report as the plain values that travel in its page: tables by columns, in which what repeats stands once.

Hosts and the origins of URLs are numbers, the title of a copy is the place of the first page that has it, and
times are differences; so 50,000 pages, deflated, take 3 MB. ``web/data.js`` reads what is written here.

The data of a page, in no more bytes than it may have.

What does not fit is left out: texts and evidence of pairs, where they take more than half, then rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.tools.report.charts import draw_hosts, draw_similarity, draw_time, outcome_bar
from dedupcrawl.tools.report.html_bundle import assemble_page, deflated_json_element
from dedupcrawl.utils import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from markupsafe import Markup

    from dedupcrawl.detectors.base import Bar, Exhibit, Opinion
    from dedupcrawl.tools.report.report_model import Cluster, PageRow, Pair, Report

    Column = list[object]


MAX_URL_CHARS = 2_000  #: characters; a longer one is shown cut, and is no link
MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 1_000  #: of a sentence, a name or a piece of evidence
MAX_EXHIBIT_POSITIONS = 10_000  #: places of an exhibit
_RELATED_URL = "\x01"  #: stands in a sentence for the URL that the page relates to
_MAX_SAFE_INTEGER = 2**53  #: largest whole number that a script can hold as one
_MAX_DEPTH = 6  #: of nested evidence


def truncate(text: str, longest: int) -> str:
    """Return a text with a sign in the place of what is too long to show."""
    return text if len(text) <= longest else text[:longest] + "…"


def page_columns(pages: Sequence[PageRow]) -> dict[str, object]:
    """Return the table of pages; texts are cut where they are too long, and otherwise as they came."""
    parts = [_split_origin(truncate(page.url, MAX_URL_CHARS)) for page in pages]
    shared = Counter(page.cluster for page in pages)
    return {
        "count": len(pages),
        "origin": _dictionary_encoded(origin for origin, _ in parts),
        "path": [path for _, path in parts],
        "title": _back_referenced(truncate(page.title, MAX_TITLE_CHARS) for page in pages),
        "host": _dictionary_encoded(truncate(page.host, MAX_TEXT_CHARS) for page in pages),
        "time": _time_deltas(pages),
        "bytes": [page.bytes for page in pages],
        "status": _dictionary_encoded(truncate(page.status, MAX_TEXT_CHARS) for page in pages),
        "fate": _dictionary_encoded(truncate(page.fate, MAX_TEXT_CHARS) for page in pages),
        "relation": _dictionary_encoded(truncate(page.relation, MAX_TEXT_CHARS) for page in pages),
        "detector": _dictionary_encoded(truncate(page.detector, MAX_TEXT_CHARS) for page in pages),
        "reason": _dictionary_encoded(truncate(page.reason, MAX_TEXT_CHARS) for page in pages),
        "cluster": _dictionary_encoded(
            truncate(page.cluster, MAX_TEXT_CHARS) if shared[page.cluster] > 1 else "" for page in pages
        ),
        "similarity": [_rounded(page.similarity, 4) for page in pages],
        "of": _related_rows(pages),
        "why": [_explanation(page) for page in pages],
        "pair": [page.pair for page in pages],
    }


def _split_origin(url: str) -> tuple[str, str]:
    """Cut a URL behind its host."""
    scheme = url.find("://")
    end = url.find("/", scheme + 3) if scheme > 0 else 0
    return (url[:end], url[end:]) if end > 0 else ("", url)


def _dictionary_encoded(values: Iterable[str]) -> dict[str, Column]:
    """Return the different values, and for each place which of them stands there."""
    numbers: dict[str, int] = {}
    at = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"values": list(numbers), "at": list(at)}


def _back_referenced(texts: Iterable[str]) -> Column:
    """Return each text where it stands first, and elsewhere the place where it did."""
    first: dict[str, int] = {}
    return [
        text if first.setdefault(text, place) == place else first[text] for place, text in enumerate(texts)
    ]


def _time_deltas(pages: Sequence[PageRow]) -> Column:
    """Return tenths of seconds since the last time that is known (the first: since 1970), or None."""
    made: Column = []
    before = 0
    for page in pages:
        time = _rounded_time(page.time)
        tenths = None if time is None else round(time * 10)
        made.append(None if tenths is None else tenths - before)
        before = before if tenths is None else tenths
    return made


def _related_rows(pages: Sequence[PageRow]) -> Column:
    """Return where the page stands that each relates to, or its URL where it is not in the table."""
    where = {page.url: place for place, page in reversed(list(enumerate(pages)))}
    return [where.get(page.of, truncate(page.of, MAX_URL_CHARS)) if page.of else "" for page in pages]


def _explanation(page: PageRow) -> str:
    told = page.why.replace(page.of, _RELATED_URL) if page.of else page.why
    return truncate(told, MAX_TEXT_CHARS)


def cluster_values(cluster: Cluster) -> dict[str, object]:
    """Return a cluster, its pages by their places in the table."""
    return {
        "name": truncate(cluster.name, MAX_TEXT_CHARS),
        "size": cluster.size,
        "hosts": cluster.hosts,
        "first": _rounded_time(cluster.first),
        "last": _rounded_time(cluster.last),
        "title": truncate(cluster.title, MAX_TITLE_CHARS),
        "pages": list(cluster.pages),
    }


def pair_values(pair: Pair) -> dict[str, object]:
    """Return a pair: of its changes, what both texts have is a text, and what differs is a list of two."""
    return {
        "new": truncate(pair.new, MAX_URL_CHARS),
        "old": truncate(pair.old, MAX_URL_CHARS),
        "newTitle": truncate(pair.new_title, MAX_TITLE_CHARS),
        "oldTitle": truncate(pair.old_title, MAX_TITLE_CHARS),
        "relation": truncate(pair.relation, MAX_TEXT_CHARS),
        "decided": truncate(pair.decided, MAX_TEXT_CHARS),
        "similarity": _rounded(pair.similarity),
        "opinions": [_opinion(each) for each in pair.opinions],
        "changes": [each.new if each.is_equal else [each.old, each.new] for each in pair.changes],
        "isCut": pair.is_cut,
    }


def _opinion(opinion: Opinion) -> dict[str, object]:
    return {
        "detector": truncate(opinion.detector, MAX_TEXT_CHARS),
        "relation": str(opinion.match.relation) if opinion.match else "",
        "similarity": _rounded(opinion.similarity),
        "figures": json_safe(opinion.figures),
        "bars": [_bar(each) for each in opinion.bars],
        "partBars": [_bar(each) for each in opinion.part_bars],
        "exhibits": [_exhibit(each) for each in opinion.exhibits],
        "silent": truncate(opinion.silent, MAX_TEXT_CHARS),
    }


def _bar(bar: Bar) -> dict[str, object]:
    return {
        "constant": truncate(bar.constant, MAX_TEXT_CHARS),
        "measure": truncate(bar.measure, MAX_TEXT_CHARS),
        "value": _rounded(bar.value),
        "found": _rounded(bar.found),
        "atLeast": bar.at_least,
        "isStrict": bar.is_strict,
        "isMet": bar.is_met,
    }


def _exhibit(exhibit: Exhibit) -> dict[str, object]:
    return {
        "unit": truncate(exhibit.unit, MAX_TEXT_CHARS),
        "agreeing": exhibit.agreeing[:MAX_EXHIBIT_POSITIONS],
        **{
            name: [truncate(each, MAX_TEXT_CHARS) for each in getattr(exhibit, name)]
            for name in ("shared", "only_new", "only_old")
        },
    }


def json_safe(value: object, depth: int = _MAX_DEPTH) -> object:
    """Return evidence as JSON can hold it, whatever it was: long texts cut, odd numbers as words."""
    if value is None or isinstance(value, bool | int | float):
        return _number(value)
    if not depth and isinstance(value, Mapping | list | tuple | AbstractSet):
        return "…"
    if isinstance(value, Mapping):
        return {
            truncate(str(name), MAX_TEXT_CHARS): json_safe(each, depth - 1) for name, each in value.items()
        }
    if isinstance(value, list | tuple | AbstractSet):
        return [json_safe(each, depth - 1) for each in value]
    return truncate(str(value), MAX_TEXT_CHARS)


def _number(value: float | None) -> object:
    if isinstance(value, float):
        return _rounded(value) if math.isfinite(value) else str(value)
    return value if value is None or abs(value) <= _MAX_SAFE_INTEGER else str(value)


def _rounded(number: float | None, digits: int = 6) -> float | None:
    if number is None or not math.isfinite(number):
        return None
    return int(number) if number == int(number) else round(number, digits)


def _rounded_time(time: float | None) -> float | None:
    return round(time, 1) if time is not None and math.isfinite(time) else None


_SAFETY_FACTOR = 0.97  #: of what should fit by rule of three, for the rest packs a little worse


@dataclass(frozen=True, slots=True)
class Payload:
    """The data elements of a page, and what a reader must know of what is not in them."""

    data: tuple[Markup, ...] = ()
    notes: tuple[str, ...] = ()


def fit_payload(report: Report, most: int) -> Payload:
    """Return the data of a report in at most ``most`` bytes."""
    pairs, whole = _encode_pairs(report, most // 2)
    rest = most - len(pairs)
    pages, rows = _shrink_to_fit(len(report.pages), rest, lambda count: _encode_pages(report, count))
    notes = (
        _omission_note("pairs are shown with their texts and all evidence", whole, len(report.pairs)),
        _omission_note("noted pages are in the table", rows, len(report.pages)),
    )
    return Payload((pages, pairs), tuple(filter(None, notes)))


def _shrink_to_fit(count: int, most: int, lay: Callable[[int], Markup]) -> tuple[Markup, int]:
    """Lay fewer and fewer things until what comes of it fits."""
    laid, bare = lay(count), 0
    while len(laid) > most and count:
        bare = bare or len(lay(0))
        share = max(most - bare, 0) / max(len(laid) - bare, 1)
        count = min(count - 1, int(count * share * _SAFETY_FACTOR))
        laid = lay(count)
    return laid, count


def _encode_pages(report: Report, rows: int) -> Markup:
    clusters = [cluster_values(_restrict_to_rows(each, rows)) for each in report.clusters]
    return deflated_json_element(
        "page-data", {"pages": page_columns(report.pages[:rows]), "clusters": clusters}
    )


def _restrict_to_rows(cluster: Cluster, rows: int) -> Cluster:
    return replace(cluster, pages=tuple(place for place in cluster.pages if place < rows))


def _encode_pairs(report: Report, most: int) -> tuple[Markup, int]:
    """Lay all pairs, as many as fit with their texts: near misses first, then by their order."""
    wanted = list(dict.fromkeys((*report.misses, *range(len(report.pairs)))))

    def lay(count: int) -> Markup:
        shown = set(wanted[:count])
        kept = (each if place in shown else _without_texts(each) for place, each in enumerate(report.pairs))
        return deflated_json_element(
            "pair-data", {"pairs": [pair_values(each) for each in kept], "misses": list(report.misses)}
        )

    return _shrink_to_fit(len(wanted), most, lay)


def _without_texts(pair: Pair) -> Pair:
    """Leave nothing of a pair but the verdict and the conditions that led to it."""
    opinions = tuple(replace(each, figures={}, exhibits=()) for each in pair.opinions)
    return replace(pair, changes=(), opinions=opinions)


def _omission_note(what: str, shown: int, known: int) -> str:
    if shown == known:
        return ""
    return f"{shown:,} of {known:,} {what}: more would make this file too large."


MAX_PAGE_BYTES = 4_950_000  #: of the whole page; one that stays under 5 MB still goes with a mail or a ticket
_NOTES_BYTES = 1_000  #: bytes for what the page says of what did not fit
_WIDE_CHART, _NARROW_CHART = 1120, 340  #: pixels of the chart over time, on a desk and on a phone
_MAX_HOSTS = 40
_SCRIPTS = ("data.js", "evidence.js", "pair.js", "panel.js", "lists.js", "table.js", "start.js")


@dataclass(frozen=True, slots=True)
class PageTexts:
    """Texts from pages that the markup shows, none longer than a person would read."""

    title: str
    notes: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]


def render_report(report: Report, most_bytes: int = MAX_PAGE_BYTES) -> str:
    """Return the page.

    Args:
        report: what it shows; every text in it is escaped.
        most_bytes: of the page in UTF-8; rows and texts that do not fit are left out, and the page says so.
    """
    frame = len(_render(report, Payload()).encode())
    return _render(report, fit_payload(report, most_bytes - frame - _NOTES_BYTES))


def _render(report: Report, fitted: Payload) -> str:
    return assemble_page(
        "report.html",
        styles=["report.css", "charts.css"],
        scripts=_SCRIPTS,
        data=fitted.data,
        title=truncate(report.title, MAX_TITLE_CHARS),
        report=report,
        words=_texts(report, fitted.notes),
        outcomes=outcome_bar(report.figures),
        charts=[
            chart
            for chart in (draw_time(report.slices, width) for width in (_WIDE_CHART, _NARROW_CHART))
            if chart
        ],
        matrix=draw_hosts(report.flows),
        hosts=report.hosts[:_MAX_HOSTS],
        similarities=[chart for chart in map(draw_similarity, report.histograms) if chart],
        **_FORMATS,
    )


_FORMATS = {name: getattr(formatting, name) for name in ("count", "size", "share", "instant", "duration")}


def _texts(report: Report, notes: tuple[str, ...]) -> PageTexts:
    return PageTexts(
        truncate(report.title, MAX_TITLE_CHARS),
        tuple(truncate(note, MAX_TEXT_CHARS) for note in (*report.notes, *notes)),
        tuple(
            (truncate(name, MAX_TITLE_CHARS), truncate(str(value), MAX_TEXT_CHARS))
            for name, value in report.settings.items()
        ),
    )
