"""The ways to crawl a made site that are compared: plain, foreseeing duplicates, and two other libraries."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Request
    from scrapy.http import Response

MAYBE_DONT = "MaybeDont"
DISCARDER = "duplicate-url-discarder"
FORESEEING = ("observe", "postpone", "skip")
STRATEGIES = ("plain", *FORESEEING, DISCARDER, MAYBE_DONT)

#: Pages of the site that MaybeDont reads before it predicts; its default. The made sites have 400 to 3,000 URLs.
MAYBE_DONT_SAMPLE = 300


def settings_of(strategy: str, seed: int) -> dict[str, Any]:
    """Return the settings of a strategy; those of the add-on of dedupcrawl are the same in all of them."""
    if strategy in FORESEEING:
        return {"DEDUP_FORESEE": strategy}
    others: Mapping[str, Callable[[int], dict[str, Any]]] = {
        "plain": lambda _: {},
        DISCARDER: lambda _: {"ADDONS": {"duplicate_url_discarder.Addon": 600}},
        MAYBE_DONT: _maybe_dont,
    }
    return {"DEDUP_FORESEE": False, **others[strategy](seed)}


def _maybe_dont(seed: int) -> dict[str, Any]:
    """Return the settings of MaybeDont, with three changes without which version 0.1.1 does not run.

    Python no longer samples from a set, and Scrapy no longer passes the spider, to requests and to responses.
    """
    from maybedont import predict  # noqa: PLC0415  # needed by this strategy only
    from maybedont.scrapy_middleware import AvoidDupContentMiddleware  # noqa: PLC0415

    class SampleFromSets(random.Random):
        """Samples from sets, as Python did before 3.11."""

        def sample(self, population: Any, k: int, *, counts: Any = None) -> list[Any]:
            """Return a sample of a set or sequence."""
            return super().sample(sorted(population), k, counts=counts)

    class CurrentMiddleware(AvoidDupContentMiddleware):  # type: ignore[misc]
        """The middleware with the arguments that Scrapy passes today."""

        def process_request(self, request: Request) -> None:
            """Ignore a request that is foreseen as a duplicate."""
            super().process_request(request, None)

        def process_response(self, request: Request, response: Response) -> Response:
            """Learn from a response."""
            learnt: Response = super().process_response(request, response, None)
            return learnt

    predict.random = SampleFromSets(seed)
    random.seed(seed)  # by which it chooses what to explore
    return {
        "AVOID_DUP_CONTENT_ENABLED": True,
        "AVOID_DUP_CONTENT_INITIAL_QUEUE_LIMIT": MAYBE_DONT_SAMPLE,
        "DOWNLOADER_MIDDLEWARES": {CurrentMiddleware: 200},
    }
