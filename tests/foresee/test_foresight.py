"""Workers share rules over the notes of a store."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.foresee.foresight import RULES, ForesightRegistry, exchange, stored_rules
from dedupcrawl.foresee.rule_state import NEEDED_GROUPS, OPEN_VALUES
from tests.stores.servers import PERSISTENT, started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupcrawl.foresee.rule_state import RuleState
    from dedupcrawl.stores.notes import NoteTables

SITE = "shop.example"


@pytest.fixture(params=["memory", "lmdb", "server"])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[NoteTables]]:
    """The notes of a store, as two workers see them."""
    with ExitStack() as stack:
        if request.param == "server":
            url = stack.enter_context(started(*PERSISTENT)).url
            yield [stack.enter_context(Deduplicator(url, "news")).store.notes for _ in range(2)]
        else:
            url = "memory://" if request.param == "memory" else f"lmdb://{tmp_path}/store"
            yield [stack.enter_context(Deduplicator(url, "news")).store.notes] * 2


def url(number: int, query: str = "") -> str:
    return f"http://{SITE}/item/{number}" + (f"?{query}" if query else "")


def learn(worker: ForesightRegistry, start: int, stop: int) -> None:
    rules = worker.rules(SITE)
    for number in range(start, stop):
        rules.learn(url(number), number)
        rules.learn(url(number, f"ref={number % OPEN_VALUES}"), number, url(number))


def share(worker: ForesightRegistry, notes: NoteTables) -> list[RuleState]:
    sent = worker.outgoing(SITE)
    return worker.incoming(SITE, sent, exchange(notes, SITE, sent))


def test_evidence_of_workers_adds_up(notes: list[NoteTables]) -> None:
    one, two = ForesightRegistry(), ForesightRegistry()
    learn(one, 0, NEEDED_GROUPS // 2)
    learn(two, 100, 100 + NEEDED_GROUPS - NEEDED_GROUPS // 2)
    for worker, table in ((one, notes[0]), (two, notes[1]), (one, notes[0])):
        assert share(worker, table) == []
    for worker in (one, two):
        (rule,) = [rule for rule in worker.rules(SITE).active_rules() if rule.text.startswith("?ref=*")]
        assert rule.good == NEEDED_GROUPS
        worker.rules(SITE).learn(url(500), 500)
        assert worker.rules(SITE).predict(url(500, "ref=3")) is not None


def test_a_revocation_reaches_the_other_worker(notes: list[NoteTables]) -> None:
    one, two = ForesightRegistry(), ForesightRegistry()
    learn(one, 0, 60)
    share(one, notes[0])
    share(two, notes[1])
    two.rules(SITE).learn(url(500), 500)
    assert two.rules(SITE).predict(url(500, "ref=1")) is not None

    assert one.rules(SITE).refute(list(one.rules(SITE).active_rules()))
    share(one, notes[0])
    lost = share(two, notes[1])
    assert "?ref=* on shop.example/item/#" in {rule.text for rule in lost}
    assert two.rules(SITE).predict(url(500, "ref=1")) is None
    assert share(two, notes[1]) == []
    (again,) = [rule for rule in two.rules(SITE).learnt_rules() if rule.text.startswith("?ref=*")]
    assert (again.good, again.refuted, again.needed) == (0, 1, 2 * NEEDED_GROUPS)


def test_a_rule_refuted_by_both_workers_at_once_is_refuted(notes: list[NoteTables]) -> None:
    one, two = ForesightRegistry(), ForesightRegistry()
    learn(one, 0, 60)
    for worker, table in ((one, notes[0]), (two, notes[1])):
        share(worker, table)
    for worker in (one, two):
        worker.rules(SITE).refute(list(worker.rules(SITE).active_rules()))
    for worker, table in ((one, notes[0]), (two, notes[1]), (one, notes[0])):
        share(worker, table)
        assert list(worker.rules(SITE).active_rules()) == []


def test_evidence_that_was_counted_during_an_exchange_is_kept(notes: list[NoteTables]) -> None:
    worker = ForesightRegistry()
    learn(worker, 0, 10)
    sent = worker.outgoing(SITE)
    learn(worker, 10, 20)
    worker.incoming(SITE, sent, exchange(notes[0], SITE, sent))
    share(worker, notes[0])
    (rule,) = [rule for rule in stored_rules(notes[1], SITE) if rule.text.startswith("?ref=*")]
    assert rule.good == 20


def test_a_store_keeps_values_and_examples(notes: list[NoteTables]) -> None:
    worker = ForesightRegistry()
    learn(worker, 0, 30)
    share(worker, notes[0])
    (rule,) = [rule for rule in stored_rules(notes[1], SITE) if rule.text.startswith("?ref=*")]
    assert len(rule.values) == OPEN_VALUES
    assert rule.is_active
    assert all(SITE in each for each in rule.example)


@pytest.mark.parametrize("value", [b"", b"[]", b"{", b'{"values": "x"}', b'{"values": [null]}', b'{"copy": 1}'])
def test_damaged_notes_are_ignored(notes: list[NoteTables], value: bytes) -> None:
    notes[0].write(RULES, SITE, {b"?ref=* on shop.example/item/#": value, b"no rule": b"{}", b"\xff": b""}, 10)
    worker = ForesightRegistry()
    assert share(worker, notes[1]) == []
    assert list(worker.rules(SITE).active_rules()) == []


def test_rules_of_many_sites_are_bounded() -> None:
    worker = ForesightRegistry()
    for number in range(2000):
        worker.rules(f"{number}.example")
    assert len([*worker]) == 512


def test_a_rule_that_others_have_refuted_and_learnt_again_was_wrong(notes: list[NoteTables]) -> None:
    """What a worker has skipped by it must be sent, although the rule acts."""
    one, two = ForesightRegistry(), ForesightRegistry()
    learn(one, 0, NEEDED_GROUPS)
    share(one, notes[0])
    share(two, notes[1])
    rules = one.rules(SITE)
    (refuted,) = rules.refute([rule for rule in rules.active_rules() if rule.text.startswith("?ref=*")])
    learn(one, 1000, 1000 + refuted.needed)
    assert refuted.text in {rule.text for rule in rules.active_rules()}
    share(one, notes[0])

    assert refuted.text in {rule.text for rule in share(two, notes[1])}
    assert refuted.text in {rule.text for rule in two.rules(SITE).active_rules()}
