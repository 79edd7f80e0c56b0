"""From the blueprint of a site to its pages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import url_of, with_line
from tests.sites.model import Copy, Harder, Site, SitePage, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.sites.model import Blueprint, Draft, Layout
    from tests.sites.words import Writer

RELATED = 5  #: links to other pages beside a text
REPRINTED = 3  #: every nth draft of a site is reprinted on another site

_local_link = re.compile(r'(?<=href=")/[^"?]*')
_facts = re.compile(r"<table.*?</table>|<dl.*?</dl>", re.DOTALL)


def pages_of(
    plan: Blueprint, writer: Writer, harder: frozenset[Harder] = frozenset(), abroad: Sequence[Blueprint] = ()
) -> Site:
    """Set all drafts, and their copies, into their templates.

    Args:
        plan: the site.
        writer: of its words.
        harder: what makes its pages harder to tell apart.
        abroad: other sites, which reprint every ``REPRINTED``th draft in turn.
    """
    press = _Press(plan, writer, harder)
    pages = [press.page(draft) for draft in plan.drafts]
    pages += [press.copy(draft, how) for draft in plan.drafts for how in draft.copies]
    if abroad:
        reprinted = enumerate(plan.drafts[::REPRINTED])
        pages += [press.reprint(draft, abroad[number % len(abroad)], number) for number, draft in reprinted]
    writer.chance.shuffle(pages)
    return Site(writer.kind, writer.seed, tuple(pages))


class _Press:
    def __init__(self, plan: Blueprint, writer: Writer, harder: frozenset[Harder]) -> None:
        self._plan, self._writer, self._harder = plan, writer, harder
        self._zh = plan.frame.language.startswith("zh")

    def page(self, draft: Draft) -> SitePage:
        url = self._url(draft)
        html = self._set(draft, url, draft.layout or self._plan.layout, self._title(draft))
        return SitePage(url, html, draft.content or draft.path)

    def copy(self, draft: Draft, how: Copy) -> SitePage:
        url = url_of(self._url(draft), how, self._writer)
        layout, title = draft.layout or self._plan.layout, self._title(draft)
        if how in {Copy.PRINT, Copy.FOOTED}:
            layout, title = layouts.printed, "打印" if self._zh else self._writer.of("Print", "Print view")
        elif how in {Copy.AMP, Copy.READ_MORE}:
            layout = layouts.amp
        elif how in {Copy.MOBILE, Copy.APP}:
            layout = layouts.newspaper if layout is layouts.bootstrap else layouts.bootstrap
        elif how is Copy.SECTION:
            section = self._plan.frame.menu[-1]
            title, draft = (
                f"{draft.title or draft.name} | {section} | {self._plan.frame.name}",
                replace(draft, trail=(section,)),
            )
        changed = with_line(draft, how, self._writer, self._plan.frame, self._url(draft))
        html = self._set(changed, url, layout, title)
        if how is Copy.SESSION:
            html = _local_link.sub(rf"\g<0>?{url.partition('?')[2]}", html)
        return SitePage(url, html, draft.content or draft.path, str(how))

    def reprint(self, draft: Draft, site: Blueprint, number: int) -> SitePage:
        """Set the text of a draft into the template of another site."""
        url = f"https://{site.host}/reprint/{number}.html"
        others = [(other.name, other.path) for other in site.drafts]
        related = tuple(self._writer.sample(others, min(RELATED, len(others))))
        bare = replace(draft, lead="", after="", beside="", head="", trail=site.frame.menu[:1])
        title = f"{draft.title or draft.name}{self._writer.of(' - ', ' | ')}{site.frame.name}"
        html = site.layout(View(bare, site.frame, url, related, title, f"<h1>{draft.heading or draft.name}</h1>"))
        return SitePage(url, html, draft.content or draft.path, str(Copy.REPRINT))

    def _url(self, draft: Draft) -> str:
        return f"https://{draft.host or self._plan.host}{draft.path}"

    def _title(self, draft: Draft) -> str:
        if Harder.EQUAL_TITLE in self._harder:
            return self._plan.frame.name
        return f"{draft.title or draft.name}{self._writer.of(' - ', ' | ')}{self._plan.frame.name}"

    def _set(self, draft: Draft, url: str, layout: Layout, title: str) -> str:
        if Harder.BESIDE in self._harder:
            facts = "".join(_facts.findall(draft.body))
            draft = replace(draft, body=_facts.sub("", draft.body), beside=facts + draft.beside)
        others = [(other.name, other.path) for other in self._plan.drafts if other.name != draft.name]
        related = tuple(self._writer.sample(others, min(RELATED, len(others))))
        return layout(View(draft, self._plan.frame, url, related, title, self._h1(draft)))

    def _h1(self, draft: Draft) -> str:
        if self._plan.one_h1 or Harder.EQUAL_H1 in self._harder:
            return f"<h1>{self._plan.frame.name}</h1>"
        return "" if Harder.NO_H1 in self._harder else f"<h1>{draft.heading or draft.name}</h1>"
