"""How the compared text of a page differs from its main text, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.sites.site_memory import SiteTracker
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.page.model import Page
    from dedupcrawl.sites.site_memory import RepeatedText
    from dedupcrawl.stores.site_tables import SiteTables, SiteView

MAX_LINES, MAX_CHARS = 20, 80  #: lines that are named, and characters of each


def text_notes(page: Page, tables: SiteTables | None, *, is_exact: bool = True) -> Iterator[str]:
    """Yield which text is compared in place of the main text, and which lines the site repeats.

    Args:
        page: the page.
        tables: what sites repeat; None: all text is compared.
        is_exact: whether they have the numbers of pages. Those of a batch only say which lines are repeated.
    """
    yield from _choice_notes(page)
    if tables is None:
        return
    tracker = SiteTracker(tables, remote=False)
    repeated, view = tracker.repeated(page), tracker.view(page)
    if repeated and view is not None and view.own is None and not view.is_template:
        yield "All text is compared, as little would be left without what this site repeats."
        return
    yield from _repeated_notes(repeated, "" if is_exact else "at least ")


def compared_notes(page: Page, view: SiteView | None, repeated: Sequence[RepeatedText]) -> Iterator[str]:
    """Yield what :func:`text_notes` yields, for a page that has been compared.

    Args:
        page: the page.
        view: the page as its site knew it when it was compared.
        repeated: the lines that its site repeats now.
    """
    yield from _choice_notes(page)
    if view is not None and (view.own is not None or view.is_template):
        own = frozenset((view.own or "").split("\n"))
        yield from _repeated_notes([line for line in repeated if line.text not in own])


def _choice_notes(page: Page) -> Iterator[str]:
    if page.compared is not None:
        yield (
            f"Another text is compared: {counted(len(page.compared), 'character')} that the rules alone found, "
            f"where the block model found {len(page.text):,}."
        )


def _repeated_notes(repeated: Sequence[RepeatedText], about: str = "") -> Iterator[str]:
    for line in repeated[:MAX_LINES]:
        yield f"Not compared, as it is on {about}{counted(line.pages, 'page')} of this site: {_shortened(line.text)}"
    if len(repeated) > MAX_LINES:
        yield f"{counted(len(repeated) - MAX_LINES, 'more line')} that its site repeats."


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
