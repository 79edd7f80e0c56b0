"""Renders a report as one HTML page: totals and charts as markup, pages and pairs as JSON for its scripts.

The table of pages is encoded by column: hosts and origins of URLs as numbers, a repeated title as the index
of its first row, times as differences. So 50,000 pages, deflated, take 3 MB. ``web/data.js`` decodes them.
If the page exceeds its size limit, texts and evidence of pairs are left out first, then rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.identity.names import name_tokens
from dedupcrawl.tools.report.charts import draw_hosts, draw_similarity, draw_time, outcome_bar
from dedupcrawl.tools.report.html_bundle import LanguageCode, assemble_page, deflated_json_element, page_languages
from dedupcrawl.utils import formatting
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from markupsafe import Markup

    from dedupcrawl.detectors.base import Assessment, Evidence, Threshold
    from dedupcrawl.sites.site_counts import SiteNotice
    from dedupcrawl.tools.report.report_model import ClusterRow, PageRow, Pair, Report
    from dedupcrawl.utils.messages import MessageTable

    Column = list[object]
    from pathlib import Path


MAX_PAGE_BYTES = 4_990_000  #: of the HTML file; below 5 MB it can be attached to a mail or a ticket
MAX_URL_CHARS = 2_000  #: longer URLs are truncated, and are no links
MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 1_000  #: of a sentence, a name or a piece of evidence
MAX_EVIDENCE_POSITIONS = 10_000
_NOTES_BYTES = 1_000  #: reserved for notes about omitted data
_WIDE_CHART, _NARROW_CHART = 1120, 340  #: width of the time chart on desktops and phones, pixels
_MAX_HOSTS = 40  #: in the table of hosts
_SCRIPTS = ("data.js", "evidence.js", "pair.js", "panel.js", "csv.js", "lists.js", "table.js", "start.js")
_FORMATS = {name: getattr(formatting, name) for name in ("count", "size", "share", "instant", "duration")}
_RELATED_URL = "\x01"  #: replaces the URL of the related page in a sentence
_MAX_SAFE_INTEGER = 2**53  #: largest integer that JavaScript represents exactly
_MAX_DEPTH = 6  #: of nested evidence
_SAFETY_FACTOR = 0.97  #: fewer rows compress a little worse than the estimate assumes


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The data elements of a page, and notes about omitted data."""

    data: tuple[Markup, ...] = ()
    notes: tuple[str, ...] = ()


def render_report(report: Report, most_bytes: int = MAX_PAGE_BYTES, language: LanguageCode = LanguageCode.AUTO) -> str:
    """Return the HTML page of a report.

    Args:
        report: its data; all texts are escaped.
        most_bytes: size limit of the page in UTF-8; the page notes which rows and texts were left out.
        language: of the page.
    """
    languages = page_languages(language)
    frame = len(_render(report, RenderContext(), languages).encode())
    payload = fit_payload(report, most_bytes - frame - _NOTES_BYTES * len(languages))
    return _render(report, payload, languages)


def _render(report: Report, payload: RenderContext, languages: Sequence[MessageTable]) -> str:
    settings = report.settings.items()
    charts = (draw_time(report.slices, width) for width in (_WIDE_CHART, _NARROW_CHART))
    return assemble_page(
        "report.html",
        styles=["report.css", "charts.css"],
        scripts=_SCRIPTS,
        data=payload.data,
        languages=languages,
        title=truncate(report.title, MAX_TITLE_CHARS),
        report=report,
        sites=[_shown_notice(notice) for notice in report.sites],
        notes=[truncate(note) for note in (*report.notes, *payload.notes)],
        settings=[(truncate(name, MAX_TITLE_CHARS), truncate(str(value))) for name, value in settings],
        outcomes=outcome_bar(report.figures),
        charts=list(filter(None, charts)),
        matrix=draw_hosts(report.flows),
        hosts=report.hosts[:_MAX_HOSTS],
        similarities=list(filter(None, map(draw_similarity, report.histograms))),
        **_FORMATS,
    )


def _shown_notice(notice: SiteNotice) -> dict[str, object]:
    """Return the texts of a notice, and its URLs, each with whether it may be a link."""
    examples, group = (
        [(truncate(url, MAX_URL_CHARS), is_web_url(url)) for url in urls]
        for urls in (notice.examples, notice.group_urls)
    )
    texts = {"text": truncate(notice.text), "advice": notice.advice}
    return {**texts, "examples": examples, "group": group, "siblings": notice.group}


def is_web_url(url: str) -> bool:
    """Whether a URL of a crawled page may be the target of a link."""
    return url.lower().startswith(("http://", "https://")) and len(url) <= MAX_URL_CHARS


# -- size limit -------------------------------------------------------------------------------


def fit_payload(report: Report, most: int) -> RenderContext:
    """Return the data of a report in at most ``most`` bytes."""
    pairs, complete = _encode_pairs(report, most // 2)
    rest = most - len(pairs)
    pages, rows = _shrink_to_fit(len(report.pages), rest, lambda count: _encode_pages(report, count))
    notes = (
        _omission_note("pairs are shown with their texts and all evidence", complete, len(report.pairs)),
        _omission_note("noted pages are in the table", rows, len(report.pages)),
    )
    return RenderContext((pages, pairs), tuple(filter(None, notes)))


def _shrink_to_fit(count: int, most: int, encode: Callable[[int], Markup]) -> tuple[Markup, int]:
    """Encode ``count`` items, or fewer until they fit."""
    encoded, empty = encode(count), 0
    while len(encoded) > most and count:
        empty = empty or len(encode(0))
        share = max(most - empty, 0) / max(len(encoded) - empty, 1)
        count = min(count - 1, int(count * share * _SAFETY_FACTOR))
        encoded = encode(count)
    return encoded, count


def _encode_pages(report: Report, rows: int) -> Markup:
    listed = (tuple(index for index in each.pages if index < rows) for each in report.clusters)
    clusters = [cluster_values(replace(each, pages=pages)) for each, pages in zip(report.clusters, listed, strict=True)]
    data = {"pages": page_columns(report.pages[:rows]), "clusters": clusters}
    return deflated_json_element("page-data", data)


def _encode_pairs(report: Report, most: int) -> tuple[Markup, int]:
    """Encode all pairs, as many as fit with their texts: near misses first, then in their order."""
    wanted = list(dict.fromkeys((*report.misses, *range(len(report.pairs)))))

    def encode(count: int) -> Markup:
        complete = set(wanted[:count])
        pairs = (each if index in complete else _without_texts(each) for index, each in enumerate(report.pairs))
        data = {"pairs": [pair_values(each) for each in pairs], "misses": list(report.misses)}
        return deflated_json_element("pair-data", data)

    return _shrink_to_fit(len(wanted), most, encode)


def _without_texts(pair: Pair) -> Pair:
    """Keep the verdict and its conditions only."""
    assessments = tuple(replace(each, figures={}, evidence=()) for each in pair.assessments)
    return replace(pair, changes=(), new_notes=(), old_notes=(), assessments=assessments)


def _omission_note(what: str, shown: int, known: int) -> str:
    if shown == known:
        return ""
    return f"{shown:,} of {known:,} {what}: more would make this file too large."


# -- values for JSON --------------------------------------------------------------------------


def truncate(text: str, longest: int = MAX_TEXT_CHARS) -> str:
    """Return a text with at most ``longest`` characters, and "…" if it was longer."""
    return text if len(text) <= longest else text[:longest] + "…"


def page_columns(pages: Sequence[PageRow]) -> dict[str, object]:
    """Return the table of pages by column."""
    parts = [_split_origin(truncate(page.url, MAX_URL_CHARS)) for page in pages]
    sizes = Counter(page.cluster for page in pages)

    def names(attribute: str) -> dict[str, Column]:
        return _dictionary_encoded(truncate(getattr(page, attribute)) for page in pages)

    origin = _dictionary_encoded(origin for origin, _ in parts)
    return {
        "count": len(pages),
        "origin": origin,
        "path": [path for _, path in parts],
        "title": _back_referenced(truncate(page.title, MAX_TITLE_CHARS) for page in pages),
        "host": _by_origin(origin["at"], [truncate(page.host) for page in pages]) or names("host"),
        "time": _time_deltas(pages),
        "bytes": [page.bytes for page in pages],
        "status": names("status"),
        "outcome": names("outcome"),
        "relation": names("relation"),
        "detector": names("detector"),
        "reason": names("reason"),
        "cluster": _dictionary_encoded(truncate(page.cluster) if sizes[page.cluster] > 1 else "" for page in pages),
        "similarity": [_rounded(page.similarity, 4) for page in pages],
        "of": _related_rows(pages),
        "why": [truncate(page.why.replace(page.of, _RELATED_URL) if page.of else page.why) for page in pages],
        "pair": [page.pair for page in pages],
    }


def _by_origin(origins: Column, hosts: Sequence[str]) -> dict[str, Column]:
    """Return the host of each origin, which saves a column; nothing if the hosts do not follow from the origins."""
    found = dict(zip(origins, hosts, strict=True))
    is_known = all(found[origin] == host for origin, host in zip(origins, hosts, strict=True))
    return {"byOrigin": [found[origin] for origin in range(len(found))]} if is_known else {}


def _split_origin(url: str) -> tuple[str, str]:
    """Split a URL after its host."""
    scheme = url.find("://")
    end = url.find("/", scheme + 3) if scheme > 0 else 0
    return (url[:end], url[end:]) if end > 0 else ("", url)


def _dictionary_encoded(values: Iterable[str]) -> dict[str, Column]:
    """Return the distinct values, and for each row the index of its value."""
    numbers: dict[str, int] = {}
    at = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"values": list(numbers), "at": list(at)}


def _back_referenced(texts: Iterable[str]) -> Column:
    """Return each text at its first row, and the index of that row at later rows."""
    first: dict[str, int] = {}
    return [text if first.setdefault(text, row) == row else first[text] for row, text in enumerate(texts)]


def _time_deltas(pages: Sequence[PageRow]) -> Column:
    """Return tenths of seconds since the last known time (the first: since 1970), or None."""
    deltas: Column = []
    before = 0
    for page in pages:
        time = _rounded_time(page.time)
        tenths = None if time is None else round(time * 10)
        deltas.append(None if tenths is None else tenths - before)
        before = before if tenths is None else tenths
    return deltas


def _related_rows(pages: Sequence[PageRow]) -> Column:
    """Return the row of each related page, or its URL if it is not in the table."""
    rows = {page.url: row for row, page in reversed(list(enumerate(pages)))}
    return [rows.get(page.of, truncate(page.of, MAX_URL_CHARS)) if page.of else "" for page in pages]


def cluster_values(cluster: ClusterRow) -> dict[str, object]:
    """Return a cluster as plain values."""
    return {
        "name": truncate(cluster.name),
        "size": cluster.size,
        "hosts": cluster.hosts,
        "first": _rounded_time(cluster.first),
        "last": _rounded_time(cluster.last),
        "title": truncate(cluster.title, MAX_TITLE_CHARS),
        "pages": list(cluster.pages),
    }


def pair_values(pair: Pair) -> dict[str, object]:
    """Return a pair as plain values; equal pieces of its texts are strings, different ones lists of two."""
    return {
        "new": truncate(pair.new, MAX_URL_CHARS),
        "old": truncate(pair.old, MAX_URL_CHARS),
        "newTitle": truncate(pair.new_title, MAX_TITLE_CHARS),
        "oldTitle": truncate(pair.old_title, MAX_TITLE_CHARS),
        "relation": truncate(pair.relation),
        "decided": truncate(pair.decided),
        "similarity": _rounded(pair.similarity),
        "assessments": [_assessment(each) for each in pair.assessments],
        "changes": [each.new if each.is_equal else [each.old, each.new] for each in pair.changes],
        "isCut": pair.is_cut,
        "siblings": truncate(pair.siblings),
        "notes": [[truncate(note) for note in notes] for notes in (pair.old_notes, pair.new_notes)],
        "position": pair.position,
        "ownWords": [truncate(words) for words in _own_words(pair)],
    }


def _own_words(pair: Pair) -> tuple[str, str]:
    """Return the words of each title that the other lacks, the new page's first; of siblings only."""
    if not pair.siblings:
        return "", ""
    new, old = (name_tokens(title.casefold()) for title in (pair.new_title, pair.old_title))
    return " ".join([word for word in new if word not in old]), " ".join([word for word in old if word not in new])


def _assessment(assessment: Assessment) -> dict[str, object]:
    return {
        "detector": truncate(assessment.detector),
        "relation": str(assessment.match.relation) if assessment.match else "",
        "similarity": _rounded(assessment.similarity),
        "figures": json_safe(assessment.figures),
        "thresholds": [_threshold(each) for each in assessment.thresholds],
        "partThresholds": [_threshold(each) for each in assessment.part_thresholds],
        "evidence": [_evidence(each) for each in assessment.evidence],
        "silent": truncate(assessment.silent),
    }


def _threshold(threshold: Threshold) -> dict[str, object]:
    return {
        "constant": truncate(threshold.constant),
        "measure": truncate(threshold.measure),
        "value": _rounded(threshold.value),
        "found": _rounded(threshold.found),
        "atLeast": threshold.at_least,
        "isStrict": threshold.is_strict,
        "isMet": threshold.is_met,
    }


def _evidence(piece: Evidence) -> dict[str, object]:
    elements = {name: getattr(piece, name) for name in ("shared", "only_new", "only_old")}
    return {
        "unit": truncate(piece.unit),
        "agreeing": piece.agreeing[:MAX_EVIDENCE_POSITIONS],
        **{name: [truncate(each) for each in texts] for name, texts in elements.items()},
    }


def json_safe(value: object, depth: int = _MAX_DEPTH) -> object:
    """Return any evidence as JSON values: long texts truncated, non-finite and huge numbers as text."""
    if value is None or isinstance(value, bool | int | float):
        return _number(value)
    if not depth and isinstance(value, Mapping | list | tuple | AbstractSet):
        return "…"
    if isinstance(value, Mapping):
        return {truncate(str(name)): json_safe(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [json_safe(each, depth - 1) for each in value]
    return truncate(str(value))


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


def save_report(report: Report, path: Path, language: LanguageCode = LanguageCode.AUTO) -> int:
    """Write the HTML file atomically, and return its size in bytes; raises DedupError on failure."""
    page = render_report(report, language=language).encode("utf-8", "replace")
    with atomic_output(path) as unfinished:
        unfinished.write_bytes(page)
    return len(page)
