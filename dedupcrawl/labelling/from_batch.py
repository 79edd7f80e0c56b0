"""The pairs of a batch, from its ``--out`` and its inputs, whose texts are read again."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dedupcrawl.labelling.drawing import Urn, chance, kind_of, zone_of
from dedupcrawl.labelling.loaded import ASKED, Loaded, run_name, threshold_of
from dedupcrawl.labelling.pairs import OfferedPair, Side, whole
from dedupcrawl.report.composing import Most
from dedupcrawl.report.differing import MOST_CHARS
from dedupcrawl.report.from_batch import material_of_batch

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.progress import Progress
    from dedupcrawl.report.facts import PageRow
    from dedupcrawl.report.material import Both, Key, Material

HELD = 400  #: pairs of a stratum whose texts are read
_MOST = Most(pages=200_000, misses=HELD, text=100_000_000)


def load_batch(folder: Path, around: float | None, teller: Progress) -> Loaded:
    """Read the pairs of a batch that has come to its end.

    Of near misses it has the nearest alone, as a report has.

    Args:
        folder: its ``--out``.
        around: the threshold; None: the one that was in force.
        teller: is told how far it has come.

    Raises:
        DedupError: there is no batch, one that has not come to its end, or one of another version.
    """
    material = material_of_batch(folder, _MOST, teller)
    title, began = str(material.about["title"]), float(material.about["began"])
    urn = Urn(run_name(title, began), threshold_of(material.histograms) if around is None else around)
    rows = _rows(material)
    chosen = _chosen(rows, urn)
    hidden = sum(
        not _put(urn, both, rows.get(both.key)) for both in material.pairs([*chosen, *material.misses])
    )
    return Loaded(urn, title, hidden)


def _rows(material: Material) -> dict[Key, PageRow]:
    """Return the rows that are related to another in a way that a person can judge, by their pairs."""
    return {
        listed.pair: listed.row
        for listed in material.rows
        if listed.pair is not None and listed.row.relation in ASKED and listed.row.similarity is not None
    }


def _chosen(rows: dict[Key, PageRow], urn: Urn) -> list[Key]:
    """Choose pairs by chance, some of each stratum; the others are counted."""
    strata: dict[tuple[str, str], list[tuple[float, Key]]] = defaultdict(list)
    for key, row in rows.items():
        which = kind_of(row.relation), zone_of(row.similarity or 0.0, urn.around)
        strata[which].append((chance(urn.run, f"{key}"), key))
    for keys in strata.values():
        keys.sort(key=lambda each: each[0])
        for _, key in keys[HELD:]:
            urn.note(rows[key].relation, rows[key].similarity or 0.0)
    return [key for keys in strata.values() for _, key in keys[:HELD]]


def _put(urn: Urn, both: Both, row: PageRow | None) -> bool:
    """Put a pair into the urn; return whether it can be shown."""
    nearest = max(both.opinions, key=lambda each: each.similarity or 0.0, default=None)
    similarity = both.similarity or 0.0
    if not both.new_text or not both.old_text:
        urn.note(both.relation, similarity)
        return False
    pair = OfferedPair(
        Side.of(both.new, both.new_title, both.new_text, MOST_CHARS),
        Side.of(both.old, both.old_title, both.old_text, MOST_CHARS),
        both.relation,
        similarity,
        both.decided or (nearest.detector if nearest else ""),
        whole(row.cluster if row else both.old),
        is_dropped=row is not None and row.fate == "dropped",
    )
    if pair.new.text != pair.old.text:
        urn.put(pair)
    return True
