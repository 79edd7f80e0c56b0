"""How the compared text of a page differs from its main text, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.sites.site_memory import SiteTracker
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.site_tables import SiteTables

MAX_LINES, MAX_CHARS = 20, 80  #: lines that are named, and characters of each


def text_notes(page: Page, tables: SiteTables | None) -> Iterator[str]:
    """Yield which text is compared in place of the main text, and which lines the site repeats.

    Args:
        page: the page.
        tables: what sites repeat; None: all text is compared.
    """
    if page.compared is not None:
        yield (
            f"Another text is compared: {counted(len(page.compared), 'character')} that the rules alone found, "
            f"where the block model found {len(page.text):,}."
        )
    if tables is None:
        return
    tracker = SiteTracker(tables, remote=False)
    repeated, view = tracker.repeated(page), tracker.view(page)
    if repeated and view is not None and view.own is None and not view.is_template:
        yield "All text is compared, as little would be left without what this site repeats."
        return
    for line in repeated[:MAX_LINES]:
        yield f"Not compared, as it is on {counted(line.pages, 'page')} of this site: {_shortened(line.text)}"
    if len(repeated) > MAX_LINES:
        yield f"{counted(len(repeated) - MAX_LINES, 'more line')} that its site repeats."


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
