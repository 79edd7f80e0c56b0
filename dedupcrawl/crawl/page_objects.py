"""What page objects of scrapy-poet can ask for: the read page of a response, and the verdict on it.

A page object names them as its dependencies (:mod:`dedupcrawl.crawl.page_object_provider` provides them)::

    @attrs.define
    class StoryPage(WebPage[Story]):
        dedup: DedupVerdict

        @field
        async def summary(self) -> str:
            return "" if self.dedup.is_duplicate else await summarise(self.text)
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from dedupcrawl.decision import Verdict
from dedupcrawl.page import Page

if TYPE_CHECKING:
    from scrapy.http import Response


@dataclass(frozen=True, slots=True)
class DedupPage(Page):
    """The page of a response as dedupcrawl reads it, for page objects and callbacks of scrapy-poet.

    It has all attributes of :class:`~dedupcrawl.Page`. If the page cannot be read, ``text`` is "".
    """

    reason: str = ""  #: why the page cannot be read: a reason of the verdict ``unchecked``; "" if it was read

    @classmethod
    def create(cls, subject: Page | Verdict) -> Self:
        """Return the page with the values of another one, or without text if there is only a verdict."""
        if isinstance(subject, Verdict):
            return cls(subject.url, "", reason=subject.reason or "")
        return cls(**_values(subject))


@dataclass(frozen=True, slots=True)
class DedupVerdict(Verdict):
    """The verdict on the page of a response before its callback runs, for page objects and callbacks of scrapy-poet.

    It has all attributes of :class:`~dedupcrawl.Verdict`. It compares the page with what is stored by then, and claims
    nothing. The pipeline judges the items of the page later; two copies that are downloaded at the same time are both
    unique here, and one of them is dropped there.
    """

    @classmethod
    def create(cls, verdict: Verdict) -> Self:
        """Return the verdict with the values of another one."""
        return cls(**_values(verdict))


def _values(instance: Page | Verdict) -> dict[str, Any]:
    return {each.name: getattr(instance, each.name) for each in fields(instance)}


def is_placeholder(response: Response) -> bool:
    """Whether a response is that of scrapy-poet for a page that was not downloaded: no page object needs it."""
    scrapy_poet = sys.modules.get("scrapy_poet")  # without the module there are no such responses
    return scrapy_poet is not None and isinstance(response, scrapy_poet.DummyResponse)
