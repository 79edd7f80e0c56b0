"""What a worker has read of a cluster lately is not read again for a page that is no copy of it, and drops none."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.detectors.base import Relation
from dedupcrawl.filing import RecordJudge
from dedupcrawl.stores.base import BUCKET_CAP, Candidate, ClaimState, Record
from dedupcrawl.stores.redis.sharded import reader
from dedupcrawl.stores.redis.sharded.layout import ClaimEntry, Command
from dedupcrawl.stores.redis.sharded.reader import TRUSTED, KnownRecordTable
from dedupcrawl.stores.redis.sharded.shard_scripts import script_names
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from tests.sites.kinds import build
from tests.stores.factories import Clock, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.stores.servers import Cluster

SYLLABLES = ("ra", "lo", "min", "tek", "sun", "vor", "pil", "das", "bel", "kor")
TERMS = " ".join(
    f"{''.join(Random(n).choices(SYLLABLES, k=3))} {''.join(Random(-n - 1).choices(SYLLABLES, k=3))}."
    for n in range(90)
)


PRINTED = "</p><p>Print this page."


def item(number: int, note: str = "") -> str:
    """A page of a catalogue: nine tenths of its text are on all its pages."""
    chance = Random(number)
    name = " ".join("".join(chance.choices(SYLLABLES, k=4)) for _ in range(2)).title()
    fact = f"The {name} costs {chance.randrange(10, 99_999) / 100} euros and weighs {chance.randrange(10, 9999)} grams."
    return (
        f"<title>{name} - shop</title><body><article><h1>{name}</h1><p>{fact}{note}</p><p>{TERMS}</p></article></body>"
    )


def url(number: int) -> str:
    return f"https://shop.example/{number}"


def fill(dedup: Deduplicator, pages: int) -> None:
    for number in range(pages):
        assert dedup.add(html=item(number), url=url(number)).keep


def commands_of(dedup: Deduplicator, patch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that is filled with the names of the commands and scripts that are sent."""
    assert isinstance(dedup.store, ShardedStore)
    wire, names = dedup.store.protocol.wire, script_names()
    found: list[str] = []
    ask = wire.ask

    def noted(commands: Sequence[Command]) -> list[Any]:
        found.extend(names.get(words[1], words[0].decode()) for _, words in commands)
        return ask(commands)

    patch.setattr(wire, "ask", noted)
    return found


def test_a_page_of_a_template_reads_only_what_it_does_not_know(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with Deduplicator(nodes.url) as dedup:
        fill(dedup, BUCKET_CAP + 8)
        sent = commands_of(dedup, monkeypatch)
        assert dedup.add(html=item(1000), url=url(1000)).relation is Relation.SIBLING
        assert sent.count("fetch") == 1  # the page before

    with Deduplicator(nodes.url) as fresh:
        sent = commands_of(fresh, monkeypatch)
        fresh.add(html=item(1001), url=url(1001))
        assert sent.count("fetch") >= BUCKET_CAP


def test_a_copy_of_a_known_page_is_dropped(nodes: Cluster) -> None:
    with Deduplicator(nodes.url) as dedup:
        fill(dedup, BUCKET_CAP)
        for number in (0, BUCKET_CAP // 2, BUCKET_CAP - 1):
            copy = dedup.add(html=item(number, PRINTED), url=f"{url(number)}?print")
            assert (copy.keep, copy.of) == (False, url(number))


def test_a_page_whose_original_was_removed_is_kept(nodes: Cluster) -> None:
    with Deduplicator(nodes.url) as dedup, Deduplicator(nodes.url) as other:
        fill(dedup, 8)
        assert other.forget(url(3)) == 1
        assert dedup.add(html=item(3, PRINTED), url=f"{url(3)}?print").keep


def test_a_page_that_another_worker_has_removed_is_not_named(nodes: Cluster) -> None:
    with Deduplicator(nodes.url) as dedup, Deduplicator(nodes.url) as other:
        fill(dedup, 8)
        assert dedup.add(html=item(1000), url=url(1000)).of == url(0)
        assert other.forget(url(0)) == 1
        assert dedup.add(html=item(1001), url=url(1001)).of == url(1)


def test_a_wrong_entry_costs_a_copy_and_never_a_page(nodes: Cluster) -> None:
    """A new page may get the id of one that was removed: until the entry ends, the new page is not read."""
    with Deduplicator(nodes.url) as dedup:
        assert isinstance(dedup.store, ShardedStore)
        fill(dedup, 8)
        known = dedup.store.protocol.known
        (wrong, *_) = [each for each in known._found.values() if each[2].record.url == url(1)]
        (id,) = [id for id, each in known._found.items() if each[2].record.url == url(2)]
        known.add(id, *wrong[1:])
        assert dedup.add(html=item(2, PRINTED), url=f"{url(2)}?print").keep
        assert dedup.add(html=item(3, PRINTED), url=f"{url(3)}?print").of == url(3)
        assert dedup.add(html=item(1000), url=url(1000)).keep


@pytest.mark.parametrize("kind", ["parts", "variants", "terms", "views", "notices-zh"])
def test_verdicts_are_those_of_a_worker_that_reads_everything(
    nodes: Cluster, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = build(kind, 0)
    found = []
    for trusted in (TRUSTED, 0.0):
        monkeypatch.setattr(reader, "TRUSTED", trusted)
        with closing(Deduplicator(nodes.url, namespace=f"{kind}-{trusted}")) as dedup:
            found.append([repr(dedup.add(html=page.html, url=page.url)) for page in site.pages])
    assert found[0] == found[1]


# -- the table ------------------------------------------------------------------------------------


def entry(state: bytes, number: int) -> tuple[ClaimEntry, Candidate]:
    page = record(url(number), number)
    return ClaimEntry(state, b"%d" % number), Candidate(number, page, ClaimState.COMMITTED, mine=False)


@pytest.mark.parametrize("state", [b"p", b"o", b"u", b"X"])
def test_only_committed_records_are_kept(state: bytes) -> None:
    known = KnownRecordTable()
    known.add(b"id", *entry(state, 1))
    assert known.get(b"id") is None
    known.add(b"id", *entry(b"c", 1))
    assert known.get(b"id") == entry(b"c", 1)
    known.remove(b"id")
    assert known.get(b"id") is None


def test_the_table_is_bounded_and_forgets_the_oldest_first() -> None:
    known = KnownRecordTable(most=2)
    for number in (1, 2, 1, 3):
        known.add(b"%d" % number, *entry(b"c", number))
    assert [number for number in (1, 2, 3) if known.get(b"%d" % number)] == [1, 3]


def test_an_entry_ends() -> None:
    now = Clock()
    known = KnownRecordTable(clock=now)
    known.add(b"id", *entry(b"c", 1))
    now.now += TRUSTED - 1
    assert known.get(b"id")
    now.now += 1
    assert known.get(b"id") is None


def test_a_sibling_is_ignored_unless_its_record_is_damaged() -> None:
    with Deduplicator() as dedup:
        new, old, copy = (
            dedup.fingerprint(page)
            for page in (dedup.read(html=item(number), url=url(number + n)) for n, number in enumerate((1, 2, 1)))
            if isinstance(page, Page)
        )
        assert isinstance(new, Record)
        assert isinstance(old, Record)
        assert isinstance(copy, Record)
        judge = RecordJudge(dedup._matcher, dedup._policy, new, new.url, versions=True, give_up=False)
        others = [copy, replace(old, url=new.url), replace(old, url="https://elsewhere.example/")]
        assert judge.ignores([old, *others]) == [True, False, False, False]
        assert judge.ignores([old, replace(old, sketches=old.sketches[:1])]) == [False, False]
