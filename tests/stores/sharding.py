"""What the tests of sharded claims share: pages that are copies by their sketch, and workers that claim them."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import ClaimState, FilingDecision, JudgedOffer, Record
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from tests.stores.factories import record
from tests.stores.servers import WAIT

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import pytest

    from dedupcrawl.stores.base import Candidate, Offer


def sharded(url: str, namespace: str = "news", *, lease: float = 3600.0, **options: Any) -> ShardedStore:
    """Open a store whose claims and calls outlast any pause of this machine."""
    store = open_store(url, namespace=namespace, scheme={}, lease=lease, **options)
    assert isinstance(store, ShardedStore)
    store._wire._patience = 2 * WAIT
    return store


class SameSketch:
    """A judge for whom pages with the same first sketch are copies."""

    def __init__(self, page: Record) -> None:
        self.page = page

    def __call__(self, candidates: Sequence[Candidate]) -> FilingDecision:
        same = [each for each in candidates if each.record.sketches[0] == self.page.sketches[0]]
        if any(each.state is ClaimState.COMMITTED for each in same):
            return FilingDecision(None, is_final=True)
        return FilingDecision(self.page, tuple(each.id for each in same))


def story(number: int, url: str) -> Record:
    """A page whose copies share half of its keys."""
    page = record(url, f"{number} a", f"{number} b", f"{number} {url}")
    return replace(page, sketches=(number.to_bytes(16, "big"), b""))


def keep(store: ShardedStore, pages: Sequence[Record], at_once: int) -> list[Record]:
    """Offer pages, commit those that are kept, and offer again those that wait; return the kept ones."""
    kept: list[Record] = []
    waiting = list(pages)
    while waiting:
        some, waiting = waiting[:at_once], waiting[at_once:]
        ends = store.offer_judged([JudgedOffer(page, SameSketch(page)) for page in some])
        claims = {end.id: page for end, page in zip(ends, some, strict=True) if end.id is not None}
        assert store.commit(claims) == len(claims)
        kept += claims.values()
        waiting += [page for end, page in zip(ends, some, strict=True) if is_waiting(end, page)]
    return kept


def is_waiting(end: Offer, page: Record) -> bool:
    judgement = SameSketch(page)(end.candidates)
    return end.id is None and bool(judgement.blockers)


def leftovers(store: ShardedStore) -> list[Candidate]:
    """What is filed beside committed pages."""
    return [each for each in store.records() if each.state is not ClaimState.COMMITTED]


def run_together(work: Any, count: int) -> None:
    failures: list[BaseException] = []

    def guarded(n: int) -> None:
        try:
            work(n)
        except BaseException as error:  # noqa: BLE001  # shown below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures, failures


def finished(store: ShardedStore, rounds: Generator[Any, Any, Offer], replies: list[Any]) -> Offer:
    while True:
        try:
            replies = store._wire.ask(rounds.send(replies))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


def take_ids(monkeypatch: pytest.MonkeyPatch, store: ShardedStore, *ids: int) -> list[bytes]:
    """Let a store draw these ids first; return what it has not drawn yet."""
    taken, draw = [store._layout.short_id(id) for id in ids], store._layout.new_id
    monkeypatch.setattr(store._layout, "new_id", lambda home, size: taken.pop() if taken else draw(home, size))
    return taken


def claim_of(store: ShardedStore, page: Record) -> int:
    id = store.offer(page).id
    assert id is not None
    return id


def keep_ids(store: ShardedStore, pages: list[Record]) -> list[int]:
    assert keep(store, pages, len(pages)) == pages
    return [each.id for each in store.records()]


def unreachable(*_: Any) -> Any:
    raise StoreUnreachableError("no node answers")
