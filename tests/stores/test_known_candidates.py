"""What a worker has received from a server is not sent again, and nothing is known that is no longer so."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.stores.base import BUCKET_CAP, Candidate, ClaimState, Record
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.known_candidates import KNOWN_BYTES, KnownCandidateTable
from dedupcrawl.stores.redis.store import RedisStore
from tests.stores.factories import START, Opener, file, key, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.stores.base import Store
    from tests.stores.servers import Server


@pytest.fixture(params=LAYOUTS)
def opened(server: Server, request: pytest.FixtureRequest) -> Iterator[Opener]:
    opener = Opener(server.laid_out(request.param))
    yield opener
    opener.close()


def page(number: int, *names: object) -> Record:
    """A page of a template, whose record is as long as one of two detectors."""
    made = record(f"https://shop.example/item/{number}", "template", *names, seen=START + number)
    return replace(made, sketches=(made.sketches[0], Random(number).randbytes(137)), identity=b"\1\2\3\4" * 8)


def add(store: Store, made: Record) -> tuple[Candidate, ...]:
    """File a page as a deduplicator does; return its candidates."""
    seen: dict[int, Candidate] = {}
    while (offer := store.add(made, max(seen, default=0))).id is None:
        seen.update((each.id, each) for each in offer.candidates)
    return tuple(seen.values())


def replies(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Return a list that is filled with the operations that a store calls, and their replies."""
    assert isinstance(store, RedisStore)
    found: list[tuple[str, Any]] = []
    checked = store._session._checked

    def noted(operation: str, reply: Any) -> Any:
        found.append((operation, reply))
        return checked(operation, reply)

    monkeypatch.setattr(store._session, "_checked", noted)
    return found


def test_a_page_of_a_template_costs_two_calls_and_a_few_bytes_for_each_candidate(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    for number in range(40):
        add(store, page(number))
    calls = replies(store, monkeypatch)
    found = add(store, page(40))
    assert [each.record.url for each in found] == [page(number).url for number in range(40 - BUCKET_CAP, 40)]
    assert [operation for operation, _ in calls] == ["find_new", "offer"]
    rows, hits, dead = calls[0][1]
    assert (len(rows), hits, dead) == (BUCKET_CAP * KNOWN_BYTES, [], 0)


def test_a_page_of_its_own_text_costs_one_call(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened()
    add(store, page(0))
    add(store, page(1))
    calls = replies(store, monkeypatch)
    assert add(store, record("https://shop.example/about", "another")) == ()
    assert [operation for operation, _ in calls] == ["offer"]


def test_what_other_workers_filed_is_sent_once(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = opened(), opened()
    for number in range(4):
        add(store, page(number))
    add(other, page(4))
    calls = replies(store, monkeypatch)
    add(store, page(5))
    add(store, page(6))
    sent = [[hit[0] for hit in reply[1]] for operation, reply in calls if operation == "find_new"]
    assert sent == [[5], []]


def test_candidates_are_those_that_a_new_worker_finds(opened: Opener) -> None:
    """Whatever workers file, claim, commit, release and forget, under whichever keys."""
    chance = Random(1)
    workers = [opened() for _ in range(3)]
    claims: list[tuple[Store, int]] = []
    for number in range(160):
        store = chance.choice(workers)
        made = page(number, *chance.sample(range(4), chance.randrange(3)))
        if chance.random() < 0.5:
            add(store, made)
        else:
            claims.append((store, file(store, made.url, "template", number % 4, commit=False)))
        if claims and chance.random() < 0.4:
            owner, id = claims.pop(chance.randrange(len(claims)))
            chance.choice([owner.commit, owner.release])([id])
        if chance.random() < 0.1:
            store.forget(page(chance.randrange(number + 1)).url)
        probes = [key("template"), *map(key, chance.sample(range(4), 2))]
        with opened() as fresh:
            expected = [(each.id, each.record, each.state) for each in fresh.find(probes)]
        assert [(each.id, each.record, each.state) for each in store.find(probes)] == expected


def test_a_claim_is_returned_in_its_state(opened: Opener) -> None:
    store = opened()
    add(store, page(0))
    add(store, page(1))
    offer = store.offer(page(2), since=2)
    assert offer.id is not None
    states = []
    for change in (bool, store.scraped, lambda claim: store.commit([claim])):
        change(offer.id)
        states.append([(each.state, each.mine) for each in store.find([key("template")])][-1])
    assert states == [(ClaimState.OPEN, True), (ClaimState.SCRAPED, True), (ClaimState.COMMITTED, False)]


def test_an_id_that_a_server_gives_again_is_another_record(server: Server) -> None:
    store = Opener(server.url)()
    for number in range(3):
        add(store, page(number))
    assert len(store.find([key("template")])) == 3
    with server.client() as client:
        records = "dedupcrawl:{news}:records"
        client.hset(records, "2", client.hget(records, "3"))
    found = store.find([key("template")])
    assert [(each.id, each.record.url) for each in found] == [(1, page(0).url), (2, page(2).url), (3, page(2).url)]
    store.close()


def test_an_offer_still_removes_dead_records(opened: Opener) -> None:
    store, other = opened(), opened()
    add(store, page(0))
    add(store, page(1))
    dead = file(other, page(2).url, "template", commit=False)
    assert store.find([key("template")])[-1].id == dead
    opened.clock.now += 10**6
    assert store.info().pages == 3
    add(store, page(3))
    assert store.info().pages == 3
    assert [each.record.url for each in store.find([key("template")])][-1] == page(3).url


def test_tables_are_bounded() -> None:
    table = KnownCandidateTable(most=3, most_marks=2)
    store = [page(number, number) for number in range(9)]
    for id, made in enumerate(store, 1):
        found = [_committed(id, made)]
        table.add(found, [(found[0], (id, bytes(20)))], made.keys)
    assert len(table._candidates) == 3
    assert len(table._marks) == 2
    table.clear()
    assert not table.mark(store[-1].keys)


def _committed(id: int, made: Record) -> Candidate:
    return Candidate(id, made, ClaimState.COMMITTED, mine=False)
