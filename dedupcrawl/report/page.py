"""A report as one page: figures and charts in its markup, pages and pairs as data that its scripts show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl import formatting
from dedupcrawl.report.assembling import assemble
from dedupcrawl.report.columns import LONGEST_TITLE, LONGEST_WORDS, cut
from dedupcrawl.report.drawing_hosts import draw_hosts
from dedupcrawl.report.drawing_similarity import draw_similarity
from dedupcrawl.report.drawing_time import draw_time
from dedupcrawl.report.fitting import Fitted, fit
from dedupcrawl.report.standing import outcomes

if TYPE_CHECKING:
    from dedupcrawl.report.facts import Report

MOST_BYTES = 4_950_000  #: of the whole page; one that stays under 5 MB still goes with a mail or a ticket
_NOTES = 1_000  #: bytes for what the page says of what did not fit
_WIDE, _NARROW = 1120, 340  #: pixels of the chart over time, on a desk and on a phone
_HOSTS = 40
_SCRIPTS = ("data.js", "evidence.js", "pair.js", "panel.js", "lists.js", "table.js", "start.js")


@dataclass(frozen=True, slots=True)
class Words:
    """Texts from pages that the markup shows, none longer than a person would read."""

    title: str
    notes: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]


def render(report: Report, most_bytes: int = MOST_BYTES) -> str:
    """Return the page.

    Args:
        report: what it shows; every text in it is escaped.
        most_bytes: of the page in UTF-8; rows and texts that do not fit are left out, and the page says so.
    """
    frame = len(_lay(report, Fitted()).encode())
    return _lay(report, fit(report, most_bytes - frame - _NOTES))


def _lay(report: Report, fitted: Fitted) -> str:
    return assemble(
        "report.html",
        styles=["report.css", "charts.css"],
        scripts=_SCRIPTS,
        data=fitted.data,
        title=cut(report.title, LONGEST_TITLE),
        report=report,
        words=_words(report, fitted.notes),
        outcomes=outcomes(report.figures),
        charts=[chart for chart in (draw_time(report.slices, width) for width in (_WIDE, _NARROW)) if chart],
        matrix=draw_hosts(report.flows),
        hosts=report.hosts[:_HOSTS],
        similarities=[chart for chart in map(draw_similarity, report.histograms) if chart],
        **_FORMATS,
    )


_FORMATS = {name: getattr(formatting, name) for name in ("count", "size", "share", "instant", "duration")}


def _words(report: Report, notes: tuple[str, ...]) -> Words:
    return Words(
        cut(report.title, LONGEST_TITLE),
        tuple(cut(note, LONGEST_WORDS) for note in (*report.notes, *notes)),
        tuple(
            (cut(name, LONGEST_TITLE), cut(str(value), LONGEST_WORDS))
            for name, value in report.settings.items()
        ),
    )
