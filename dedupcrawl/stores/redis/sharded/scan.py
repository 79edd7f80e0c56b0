"""What is done with all tags of a sharded namespace: listing, counting and removing."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import MAX_HOTTEST, HotBucket
from dedupcrawl.stores.redis.sharded.layout import COUNTED, SCRAPED, TAGS, Command
from dedupcrawl.stores.redis.sharded.packed_values import seen_in
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.redis.sharded.layout import Found, ShardLayout

    Ask = Callable[[Sequence[Command]], list[Any]]

TAGS_AT_ONCE = 16  #: tags that are listed together
BATCH = 100  #: fields of a tag in one call, which so takes the server a fraction of a millisecond
SHELVES = 4  #: bucket hashes of a tag whose memory is read
SAMPLES = 64  #: records and buckets of a tag that are read to count them


def scanned(layout: ShardLayout, ask: Ask, tags: Iterable[int] = range(TAGS)) -> Iterator[list[tuple[bytes, Found]]]:
    """Yield all records in batches, tag by tag; each of those that are there all the time once."""
    for some in chunked(tags, TAGS_AT_ONCE):
        cursors = dict.fromkeys(some, b"0")
        seen: set[bytes] = set()
        while cursors:
            replies = ask([layout.records(n, cursor, BATCH) for n, cursor in cursors.items()])
            found: dict[bytes, Found] = {}
            for n, reply in zip(list(cursors), replies, strict=True):
                cursors[n], listed = layout.listed(n, reply)
                found.update(listed)
            fresh = [(id, each) for id, each in found.items() if id not in seen]
            seen.update(found)
            cursors = {n: cursor for n, cursor in cursors.items() if cursor != b"0"}
            if fresh:
                yield fresh


@dataclass(frozen=True, slots=True)
class Count:
    """How much is filed; ``keys`` and the times are estimated where a tag has more than ``SAMPLES`` or ``COUNTED``."""

    pages: int
    open: int
    scraped: int
    ended: int
    keys: int
    oldest: float | None
    newest: float | None
    hot: int
    hottest: tuple[HotBucket, ...]


def count_namespace(layout: ShardLayout, ask: Ask, dead: Callable[[set[bytes]], set[bytes]]) -> Count:
    """Count what is filed; ``dead`` returns those of these workers whose lease has ended."""
    replies = ask([layout.census(n, SAMPLES) for n in range(TAGS)])
    owners = [owner for reply in replies for owner in reply[1]]
    ended = dead({owner[:8] for owner in owners})
    times = [seen_in(each) / 1000 for reply in replies for each in reply[4]]
    hot = [(count, layout.first_byte(n) + rest) for n, reply in enumerate(replies) for rest, count in reply[5]]
    scraped = sum(owner[8:] == SCRAPED for owner in owners)
    return Count(
        pages=sum(reply[0] for reply in replies) - len(owners),
        open=len(owners) - scraped,
        scraped=scraped,
        ended=sum(owner[:8] in ended for owner in owners),
        keys=round(sum(reply[3] for reply in replies) * max(1.0, layout.shelves / COUNTED)),
        oldest=min(times, default=None),
        newest=max(times, default=None),
        hot=len(hot),
        hottest=tuple(HotBucket(key.hex(), count) for count, key in nlargest(MAX_HOTTEST, hot)),
    )


def memory_bytes(layout: ShardLayout, ask: Ask) -> int:
    """Return the memory of all keys, of bucket hashes by samples; 0 if the user may not read it."""
    commands: list[Command] = []
    weights: list[float] = []
    for n in range(TAGS):
        slot, keys = layout.keys(n)
        shelves = layout.bucket_keys(n, SHELVES)
        commands += [Command(slot, (b"MEMORY", b"USAGE", key)) for key in (*keys, *shelves)]
        weights += [1.0] * len(keys) + [layout.shelves / len(shelves)] * len(shelves)
    try:
        return round(sum((reply or 0) * weight for reply, weight in zip(ask(commands), weights, strict=True)))
    except StoreError:
        return 0


def remove_keys(layout: ShardLayout, ask: Ask, shelves: int) -> None:
    """Remove all records and buckets of a namespace with so many bucket hashes under each tag."""
    for some in chunked(range(TAGS), TAGS_AT_ONCE):
        commands = []
        for n in some:
            slot, keys = layout.keys(n)
            buckets = layout.bucket_keys(n, shelves, shelves)
            commands += [Command(slot, (b"UNLINK", *part)) for part in chunked([*keys, *buckets], BATCH)]
        ask(commands)
