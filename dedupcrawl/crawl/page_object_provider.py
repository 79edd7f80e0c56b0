"""The provider of scrapy-poet for :class:`DedupPage` and :class:`DedupVerdict`. The add-on installs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence  # noqa: TC003  # scrapy-poet reads the annotations when it runs
from typing import TYPE_CHECKING, Any

from scrapy import Request  # noqa: TC002
from scrapy.http import Response  # noqa: TC002
from scrapy_poet.page_input_providers import PageObjectInputProvider
from web_poet.serialization import register_serialization

from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.page_objects import DedupPage, DedupVerdict
from dedupcrawl.crawl.responses import SKIP, SKIPPED
from dedupcrawl.decision import Status, Verdict, unchecked
from dedupcrawl.detectors.base import Relation
from dedupcrawl.page.model import Block, Kind

if TYPE_CHECKING:
    from scrapy_poet.injection import Injector

    from dedupcrawl.page import Page

_BYTES = ("removed", "files", "layout")  #: fields of a page with bytes


class DedupProvider(PageObjectInputProvider):
    """Provides the read page of a response and the verdict on it.

    It has no ``name``: scrapy-poet then refuses to store what it provides in ``SCRAPY_POET_CACHE``, which would give
    the next crawl the verdicts of this one.

    Args:
        injector: of scrapy-poet, which has the crawler.

    Raises:
        SettingError: the add-on of dedupcrawl is not installed (when something is asked for).
    """

    provided_classes = {DedupPage, DedupVerdict}  # noqa: RUF012  # scrapy-poet declares it so

    def __init__(self, injector: Injector) -> None:
        super().__init__(injector)  # type: ignore[no-untyped-call]
        self._crawler = injector.crawler

    async def __call__(
        self, to_provide: set[Callable[..., Any]], request: Request, response: Response
    ) -> Sequence[DedupPage | DedupVerdict]:
        """Read the page of a response, and compare it with the stored ones if its verdict is wanted; claim nothing."""
        context = context_of(self._crawler)
        subject: Page | Verdict
        if request.meta.get(SKIP):  # the response does not know its request yet
            subject = unchecked(response.url, SKIPPED)
        else:
            subject = await context.reader.read_apart(response)
        found: list[DedupPage | DedupVerdict] = []
        if DedupPage in to_provide:
            found.append(DedupPage.create(subject))
        if DedupVerdict in to_provide:
            verdict = subject if isinstance(subject, Verdict) else (await context.claims.check(subject)).verdict
            found.append(DedupVerdict.create(verdict))
        return found


# -- files of `scrapy savefixture` ----------------------------------------------------------------


def _page_to_files(page: DedupPage) -> dict[str, bytes]:
    values: dict[str, Any] = {name: getattr(page, name) for name in page.__match_args__}
    return {"json": json.dumps({**values, **{name: values[name].hex() for name in _BYTES}}, indent=2).encode()}


def _page_from_files(cls: type[DedupPage], files: dict[str, bytes]) -> DedupPage:
    values = json.loads(files["json"])
    values |= {name: bytes.fromhex(values[name]) for name in _BYTES}
    values["kind"] = Kind(values["kind"])
    values["blocks"] = tuple(Block(*each) for each in values["blocks"])
    values["fields"] = tuple(map(tuple, values["fields"]))
    return cls(**values)


def _verdict_to_files(verdict: DedupVerdict) -> dict[str, bytes]:
    return {"json": json.dumps(verdict.to_dict(), indent=2).encode()}


def _verdict_from_files(cls: type[DedupVerdict], files: dict[str, bytes]) -> DedupVerdict:
    values = json.loads(files["json"])
    relation = values.get("relation")
    values |= {"status": Status(values["status"]), "relation": None if relation is None else Relation(relation)}
    return cls(**values)


register_serialization(_page_to_files, _page_from_files)
register_serialization(_verdict_to_files, _verdict_from_files)
