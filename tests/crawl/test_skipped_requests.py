"""The table of skipped requests: its total is that of the stored requests, whatever is skipped or removed twice."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from dedupcrawl import Deduplicator
from dedupcrawl.crawl import skipped_requests
from dedupcrawl.crawl.skipped_requests import SkippedEntry, SkippedRequestQueue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from dedupcrawl.crawl.store_client import StoreClient

SITE = "shop.example"


async def call(work: Callable[..., Any], *args: Any) -> Any:
    return work(*args)


def queue(dedup: Deduplicator) -> SkippedRequestQueue:
    """Return a queue that calls a real store, in this thread."""
    client = SimpleNamespace(dedup=dedup, is_remote=False, call=call)
    return SkippedRequestQueue(cast("StoreClient", client))


def entry(number: int) -> SkippedEntry:
    return SkippedEntry(b"%d" % number, {"url": f"http://{SITE}/{number}"}, ("a rule",), 1e9 + number)


def test_what_is_skipped_or_removed_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipped_requests, "MAX_SKIPPED", 3)

    async def use(requests: SkippedRequestQueue) -> None:
        for _ in range(5):
            assert await requests.add(SITE, entry(1))
        assert await requests.add(SITE, entry(2))
        for _ in range(5):
            await requests.remove(SITE, [entry(2).key])
        assert await requests.add(SITE, entry(3))
        assert await requests.add(SITE, entry(4))
        assert not await requests.add(SITE, entry(5))
        assert {each.key for each in await requests.find(SITE)} == {b"1", b"3", b"4"}

    with Deduplicator(f"lmdb://{tmp_path}/store", "news") as dedup:
        asyncio.run(use(queue(dedup)))
