"""Operations on all tags of a sharded namespace: listing, counting and removing."""

from __future__ import annotations

import logging
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import MAX_HOTTEST, HotBucketInfo
from dedupcrawl.stores.records import is_time
from dedupcrawl.stores.redis.sharded.layout import COUNTED, COUNTED_RECORDS, KEYS_OF_PAGE, SCRAPED, TAGS, Command
from dedupcrawl.stores.redis.sharded.packed_values import seen_in
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.redis.sharded.layout import ClaimEntry, ShardLayout

    Ask = Callable[[Sequence[Command]], list[Any]]

logger = logging.getLogger(__name__)

TAGS_AT_ONCE = 16  #: tags that are listed together
BATCH = 100  #: fields of a tag in one call, so that a call takes the server a fraction of a millisecond
SHELVES = 4  #: hashes of a tag, of either kind, whose memory is read
OUTGROWN = 6  #: times the planned pages, beyond which servers no longer keep the hashes as flat lists
SAMPLES = 64  #: records of a tag, and a sixteenth of its buckets, that are read to count them


def scanned(
    layout: ShardLayout, ask: Ask, tags: Iterable[int] = range(TAGS)
) -> Iterator[list[tuple[bytes, ClaimEntry]]]:
    """Yield all records in batches, tag by tag. A record that is there all the time is yielded once.

    A batch has the records that one round trip finds, even if there are none.
    """
    for some in chunked(tags, TAGS_AT_ONCE):
        cursors = dict.fromkeys(some, b"0")
        seen: set[bytes] = set()
        while cursors:
            replies = ask([layout.records(n, cursor, BATCH) for n, cursor in cursors.items()])
            found: dict[bytes, ClaimEntry] = {}
            for (n, cursor), reply in zip(list(cursors.items()), replies, strict=True):
                cursors[n], listed = layout.listed(n, cursor, reply)
                found.update(listed)
            fresh = [(id, each) for id, each in found.items() if id not in seen]
            seen.update(found)
            cursors = {n: cursor for n, cursor in cursors.items() if cursor != b"0"}
            yield fresh


class RecordCount(NamedTuple):
    """How much is filed.

    The times are estimated where a tag has more than ``SAMPLES`` pages, ``keys`` where it has more than 16 times as
    many buckets, or more than ``COUNTED`` hashes of buckets. ``pages`` are estimated where it has more than
    ``COUNTED_RECORDS`` hashes of records in pieces, in a namespace for more than two million pages.
    """

    pages: int
    open: int
    scraped: int
    ended: int
    keys: int
    oldest: float | None
    newest: float | None
    hot: int
    hottest: tuple[HotBucketInfo, ...]


def count_namespace(layout: ShardLayout, ask: Ask, dead: Callable[[set[bytes]], set[bytes]]) -> RecordCount:
    """Count what is filed; ``dead`` returns those of these workers whose lease has ended."""
    replies = ask([layout.census(n, SAMPLES) for n in range(TAGS)])
    owners = [owner for reply in replies for owner in reply[2]]
    ended = dead({owner[:8] for owner in owners})
    times = [seen for reply in replies for each in reply[5] if is_time(seen := seen_in(each) / 1000)]
    hot = [(count, layout.first_byte(n) + rest) for n, reply in enumerate(replies) for rest, count in reply[6]]
    scraped = sum(owner[8:] == SCRAPED for owner in owners)
    in_pieces = sum(reply[1] for reply in replies) * max(1.0, layout.record_shelves / COUNTED_RECORDS)
    return RecordCount(
        pages=sum(reply[0] for reply in replies) + round(in_pieces) - len(owners),
        open=len(owners) - scraped,
        scraped=scraped,
        ended=sum(owner[:8] in ended for owner in owners),
        keys=round(sum(reply[4] for reply in replies) * max(1.0, layout.shelves / COUNTED)),
        oldest=min(times, default=None),
        newest=max(times, default=None),
        hot=len(hot),
        hottest=tuple(HotBucketInfo(key.hex(), count) for count, key in nlargest(MAX_HOTTEST, hot)),
    )


def log_outgrown(layout: ShardLayout, ask: Ask) -> None:
    """Log a warning if a namespace has grown far beyond its plan: pages take more bytes then than they need."""
    tags = range(0, TAGS, TAGS // SHELVES)
    names = [(layout.stages(n)[0], name) for n in tags for name in layout.bucket_keys(n, SHELVES)]
    lengths = ask([Command(slot, (b"HLEN", name)) for slot, name in names])
    pages = round(sum(lengths) / len(lengths) * layout.shelves * TAGS / KEYS_OF_PAGE)
    if pages > OUTGROWN * layout.planned:
        logger.warning(
            "The store %(store)s holds about %(pages)d pages and is planned for %(planned)d: each takes up to 250 "
            "bytes more than it needs. Export it, and import it into a namespace with a larger pages= in its URL",
            {"store": layout.shown, "pages": pages, "planned": layout.planned},
        )


def memory_bytes(layout: ShardLayout, ask: Ask) -> int:
    """Return the memory of all keys, of bucket hashes by samples; 0 if the user may not read it."""
    commands: list[Command] = []
    weights: list[float] = []
    for n in range(TAGS):
        slot, stages = layout.stages(n)
        commands += [Command(slot, (b"MEMORY", b"USAGE", key)) for key in (stages, *layout.record_keys(n, 0, 1))]
        weights += [1.0, 1.0]
        for sample, count in (
            (layout.bucket_keys(n, SHELVES), layout.shelves),
            (layout.record_keys(n, 1, SHELVES), layout.record_shelves),
        ):
            commands += [Command(slot, (b"MEMORY", b"USAGE", key)) for key in sample]
            weights += [count / len(sample)] * len(sample) if sample else []
    try:
        return round(sum((reply or 0) * weight for reply, weight in zip(ask(commands), weights, strict=True)))
    except StoreError:
        return 0


def remove_keys(layout: ShardLayout, ask: Ask) -> None:
    """Remove all records and buckets of a namespace."""
    for some in chunked(range(TAGS), TAGS_AT_ONCE):
        commands = []
        for n in some:
            slot, stages = layout.stages(n)
            hashes = layout.record_keys(n, 0, 1 + layout.record_shelves), layout.bucket_keys(n, layout.shelves)
            keys = [stages, *(key for some in hashes for key in some)]
            commands += [Command(slot, (b"UNLINK", *part)) for part in chunked(keys, BATCH)]
        ask(commands)
