"""A report as the plain values that travel in its page: tables by columns, in which what repeats stands once.

Hosts and the origins of URLs are numbers, the title of a copy is the place of the first page that has it, and
times are differences; so 50,000 pages, deflated, take 3 MB. ``web/data.js`` reads what is written here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.detectors.base import Bar, Exhibit, Opinion
    from dedupcrawl.report.facts import Cluster, PageRow, Pair

    Column = list[object]

LONGEST_URL = 2_000  #: characters; a longer one is shown cut, and is no link
LONGEST_TITLE = 300
LONGEST_WORDS = 1_000  #: of a sentence, a name or a piece of evidence
LONGEST_EXHIBIT = 10_000  #: places of an exhibit
_OF = "\x01"  #: stands in a sentence for the URL that the page relates to
_EXACT = 2**53  #: largest whole number that a script can hold as one
_DEPTH = 6  #: of nested evidence


def cut(text: str, longest: int) -> str:
    """Return a text with a sign in the place of what is too long to show."""
    return text if len(text) <= longest else text[:longest] + "…"


def page_columns(pages: Sequence[PageRow]) -> dict[str, object]:
    """Return the table of pages; texts are cut where they are too long, and otherwise as they came."""
    parts = [_split(cut(page.url, LONGEST_URL)) for page in pages]
    shared = Counter(page.cluster for page in pages)
    return {
        "count": len(pages),
        "origin": _numbered(origin for origin, _ in parts),
        "path": [path for _, path in parts],
        "title": _once(cut(page.title, LONGEST_TITLE) for page in pages),
        "host": _numbered(cut(page.host, LONGEST_WORDS) for page in pages),
        "time": _differences(pages),
        "bytes": [page.bytes for page in pages],
        "status": _numbered(cut(page.status, LONGEST_WORDS) for page in pages),
        "fate": _numbered(cut(page.fate, LONGEST_WORDS) for page in pages),
        "relation": _numbered(cut(page.relation, LONGEST_WORDS) for page in pages),
        "detector": _numbered(cut(page.detector, LONGEST_WORDS) for page in pages),
        "reason": _numbered(cut(page.reason, LONGEST_WORDS) for page in pages),
        "cluster": _numbered(
            cut(page.cluster, LONGEST_WORDS) if shared[page.cluster] > 1 else "" for page in pages
        ),
        "similarity": [_rounded(page.similarity, 4) for page in pages],
        "of": _places(pages),
        "why": [_sentence(page) for page in pages],
        "pair": [page.pair for page in pages],
    }


def _split(url: str) -> tuple[str, str]:
    """Cut a URL behind its host."""
    scheme = url.find("://")
    end = url.find("/", scheme + 3) if scheme > 0 else 0
    return (url[:end], url[end:]) if end > 0 else ("", url)


def _numbered(values: Iterable[str]) -> dict[str, Column]:
    """Return the different values, and for each place which of them stands there."""
    numbers: dict[str, int] = {}
    at = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"values": list(numbers), "at": list(at)}


def _once(texts: Iterable[str]) -> Column:
    """Return each text where it stands first, and elsewhere the place where it did."""
    first: dict[str, int] = {}
    return [
        text if first.setdefault(text, place) == place else first[text] for place, text in enumerate(texts)
    ]


def _differences(pages: Sequence[PageRow]) -> Column:
    """Return tenths of seconds since the last time that is known (the first: since 1970), or None."""
    made: Column = []
    before = 0
    for page in pages:
        time = _instant(page.time)
        tenths = None if time is None else round(time * 10)
        made.append(None if tenths is None else tenths - before)
        before = before if tenths is None else tenths
    return made


def _places(pages: Sequence[PageRow]) -> Column:
    """Return where the page stands that each relates to, or its URL where it is not in the table."""
    where = {page.url: place for place, page in reversed(list(enumerate(pages)))}
    return [where.get(page.of, cut(page.of, LONGEST_URL)) if page.of else "" for page in pages]


def _sentence(page: PageRow) -> str:
    told = page.why.replace(page.of, _OF) if page.of else page.why
    return cut(told, LONGEST_WORDS)


def cluster_values(cluster: Cluster) -> dict[str, object]:
    """Return a cluster, its pages by their places in the table."""
    return {
        "name": cut(cluster.name, LONGEST_WORDS),
        "size": cluster.size,
        "hosts": cluster.hosts,
        "first": _instant(cluster.first),
        "last": _instant(cluster.last),
        "title": cut(cluster.title, LONGEST_TITLE),
        "pages": list(cluster.pages),
    }


def pair_values(pair: Pair) -> dict[str, object]:
    """Return a pair: of its changes, what both texts have is a text, and what differs is a list of two."""
    return {
        "new": cut(pair.new, LONGEST_URL),
        "old": cut(pair.old, LONGEST_URL),
        "newTitle": cut(pair.new_title, LONGEST_TITLE),
        "oldTitle": cut(pair.old_title, LONGEST_TITLE),
        "relation": cut(pair.relation, LONGEST_WORDS),
        "decided": cut(pair.decided, LONGEST_WORDS),
        "similarity": _rounded(pair.similarity),
        "opinions": [_opinion(each) for each in pair.opinions],
        "changes": [each.new if each.is_equal else [each.old, each.new] for each in pair.changes],
        "isCut": pair.is_cut,
    }


def _opinion(opinion: Opinion) -> dict[str, object]:
    return {
        "detector": cut(opinion.detector, LONGEST_WORDS),
        "relation": str(opinion.match.relation) if opinion.match else "",
        "similarity": _rounded(opinion.similarity),
        "figures": plain(opinion.figures),
        "bars": [_bar(each) for each in opinion.bars],
        "partBars": [_bar(each) for each in opinion.part_bars],
        "exhibits": [_exhibit(each) for each in opinion.exhibits],
        "silent": cut(opinion.silent, LONGEST_WORDS),
    }


def _bar(bar: Bar) -> dict[str, object]:
    return {
        "constant": cut(bar.constant, LONGEST_WORDS),
        "measure": cut(bar.measure, LONGEST_WORDS),
        "value": _rounded(bar.value),
        "found": _rounded(bar.found),
        "atLeast": bar.at_least,
        "isStrict": bar.is_strict,
        "isMet": bar.is_met,
    }


def _exhibit(exhibit: Exhibit) -> dict[str, object]:
    return {
        "unit": cut(exhibit.unit, LONGEST_WORDS),
        "agreeing": exhibit.agreeing[:LONGEST_EXHIBIT],
        **{
            name: [cut(each, LONGEST_WORDS) for each in getattr(exhibit, name)]
            for name in ("shared", "only_new", "only_old")
        },
    }


def plain(value: object, depth: int = _DEPTH) -> object:
    """Return evidence as JSON can hold it, whatever it was: long texts cut, odd numbers as words."""
    if value is None or isinstance(value, bool | int | float):
        return _number(value)
    if not depth and isinstance(value, Mapping | list | tuple | AbstractSet):
        return "…"
    if isinstance(value, Mapping):
        return {cut(str(name), LONGEST_WORDS): plain(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [plain(each, depth - 1) for each in value]
    return cut(str(value), LONGEST_WORDS)


def _number(value: float | None) -> object:
    if isinstance(value, float):
        return _rounded(value) if math.isfinite(value) else str(value)
    return value if value is None or abs(value) <= _EXACT else str(value)


def _rounded(number: float | None, digits: int = 6) -> float | None:
    if number is None or not math.isfinite(number):
        return None
    return int(number) if number == int(number) else round(number, digits)


def _instant(time: float | None) -> float | None:
    return round(time, 1) if time is not None and math.isfinite(time) else None
