"""The pages of a store that belong to a cluster, and the one that is most like a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.policy import cluster_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.stores.base import Candidate, Store

    Measure = Callable[[Candidate], float | None]  #: how like a page a record is

CHUNK = 256  #: records after which a bar moves


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, and how much was looked through for it."""

    members: tuple[Candidate, ...]  #: of the cluster, by rising id
    near: Candidate | None = None  #: the most similar page, where one was looked for
    walked: int | None = None  #: records of the store that were looked at; None: only those under shared keys


def under_keys(store: Store, cluster: str, start: Iterable[Candidate]) -> Seen:
    """Find the pages of a cluster that are linked by shared keys with these."""
    found: dict[int, Candidate] = {}
    waiting = [each for each in start if cluster_of(each.record) == cluster]
    while waiting:
        one = waiting.pop()
        if one.id in found:
            continue
        found[one.id] = one
        waiting += [each for each in store.find(one.record.keys) if cluster_of(each.record) == cluster]
    return Seen(_ordered(found))


def walked(
    store: Store,
    cluster: str,
    start: Iterable[Candidate],
    tick: Callable[[int], None],
    measure: Measure | None = None,
) -> Seen:
    """Find all pages of a cluster, and by ``measure`` the page nearest to one: look at every record.

    ``tick`` is told how many more were looked at.
    """
    found = {each.id: each for each in under_keys(store, cluster, start).members}
    near: Candidate | None = None
    best, count = 0.0, 0
    for count, each in enumerate(store.records(), 1):
        if cluster_of(each.record) == cluster:
            found[each.id] = each
        alike = measure(each) if measure else None
        if alike is not None and alike > best:
            near, best = each, alike
        if count % CHUNK == 0:
            tick(CHUNK)
    tick(count % CHUNK)
    return Seen(_ordered(found), near, count)


def likeness(opinions: Iterable[Opinion]) -> float | None:
    """Return the highest similarity that a detector measures; None: none does."""
    return max((each.similarity for each in opinions if each.similarity is not None), default=None)


def _ordered(found: dict[int, Candidate]) -> tuple[Candidate, ...]:
    return tuple(each for _, each in sorted(found.items()))
