"""Which pages and pairs are shown where there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.report.material import Key, Listed


def choose_rows(rows: Iterable[Listed], most: int, clusters: Collection[str]) -> list[Listed]:
    """Return the pages of the table, the dropped ones first, each kind by time.

    Where there are more than ``most``, first those go that relate to no other, then other kept ones, and of
    each kind the pages of some clusters and not some of all clusters. ``clusters`` are those that are shown,
    whose pages go last. At most ``2 * most`` rows are held.
    """

    def rank(each: Listed) -> tuple[int, int]:
        if each.row.fate == "dropped" or each.row.cluster in clusters:
            return 0, each.chance
        return 1 if each.row.relation else 2, each.chance

    held: list[Listed] = []
    for each in rows:
        held.append(each)
        if len(held) >= 2 * most:
            held = sorted(held, key=rank)[:most]
    if len(held) > most:
        held = sorted(held, key=rank)[:most]
    return sorted(held, key=lambda each: (each.row.fate != "dropped", each.row.time or 0.0, each.order))


def choose_pairs(
    misses: Sequence[Key], members: Mapping[str, Sequence[Listed]], rows: Iterable[Listed], most: int
) -> list[Key]:
    """Return the pairs that are worth showing, those that are worth it most first.

    Near misses, then a page of each cluster, then the second page of each, and so on, then all others.

    Args:
        misses: pairs, nearest first.
        members: the pages of each cluster that is shown, largest cluster first.
        rows: the pages of the table.
        most: pairs.
    """
    wanted: dict[Key, None] = dict.fromkeys(misses)
    for each in (*_by_turns(members.values()), *rows):
        if len(wanted) >= most:
            break
        if each.pair is not None:
            wanted[each.pair] = None
    return list(wanted)[:most]


def _by_turns(groups: Iterable[Sequence[Listed]]) -> Iterator[Listed]:
    """Give the first of each group, then the second of each, and so on."""
    left = [iter([each for each in group if each.pair is not None]) for group in groups]
    while left:
        still = []
        for group in left:
            for each in group:
                yield each
                still.append(group)
                break
        left = still
