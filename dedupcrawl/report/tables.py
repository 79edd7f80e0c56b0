"""The tables of a ledger as they are written, within their bounds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dedupcrawl.report.bounds import hash_of, is_sampled
from dedupcrawl.report.hosts import OTHERS
from dedupcrawl.report.plain import pack_held, storable, verdict_json
from dedupcrawl.report.sums import Sums
from dedupcrawl.report.timeline import folded, width_for

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    from dedupcrawl.report.bounds import Bounds
    from dedupcrawl.report.entry import Entry, Held
    from dedupcrawl.report.note import Note

BATCH = 256  #: pages that are written in one go
BATCH_BYTES = 4 * 2**20  #: of texts: the same
_HIGHEST = 61  #: level at which next to no cluster is left
_ADD = {
    "counts": "INSERT INTO counts VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "detectors": "INSERT INTO detectors VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "flows": "INSERT INTO flows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "bins": "INSERT INTO bins VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "hosts": "INSERT INTO hosts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "pages = pages + excluded.pages, kept = kept + excluded.kept, dropped = dropped + excluded.dropped",
    "slices": "INSERT INTO slices VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET kept = kept + excluded.kept, "
    "dropped = dropped + excluded.dropped, unchecked = unchecked + excluded.unchecked",
}
_JOIN = (
    "INSERT INTO clusters VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET pages = pages + 1, "
    "first = min(first, excluded.first), last = max(last, excluded.last) RETURNING pages"
)
#: Pages of near misses stay, and those that they were held against, whatever their clusters.
_PINNED = "(SELECT page FROM misses UNION SELECT pages.id FROM misses JOIN pages ON pages.url = misses.old)"


@dataclass(slots=True)
class Batch:
    """What waits to be written."""

    #: each with its cluster, and the one that it was in when it was judged before
    entries: list[tuple[Note, Entry, str, str | None]] = field(default_factory=list)
    changed: dict[int, Note] = field(default_factory=dict)  #: pages of which more is known now, by id
    sums: Sums = field(default_factory=Sums)
    troubles: dict[str, str] = field(default_factory=dict)
    lost: int = 0  #: pages that could not be written
    size: int = 0  #: characters of their texts

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.entries or self.changed or self.sums or self.troubles or self.lost)

    @property
    def is_large(self) -> bool:
        """Whether it is time to write it."""
        return len(self.entries) >= BATCH or self.size >= BATCH_BYTES

    def join(self, other: Batch) -> None:
        """Keep the counts of a batch that could not be written; its pages are lost."""
        self.sums.add(other.sums)
        lost = {note.id for note, *_ in other.entries}
        self.changed |= {note.id: note for note in other.changed.values() if note.id not in lost}
        self.troubles = {**other.troubles, **self.troubles}
        self.lost += other.lost + len(lost)


class Tables:
    """Adds batches to the tables, and takes out what is beyond the bounds."""

    def __init__(self, connection: sqlite3.Connection, bounds: Bounds) -> None:
        self._connection = connection
        self._bounds = bounds
        self.recall()

    def recall(self) -> None:
        """Learn from the file how full it is."""
        if self._connection.in_transaction:
            self._connection.rollback()
        one = self._one
        self.last_page: int = one(
            "SELECT max(coalesce(max(id), 0), ?) FROM pages", self._state("last_page", 0)
        )
        self._level, self._bulk_level = self._state("level", 0), self._state("bulk_level", 0)
        self._width = self._state("width", 1)
        self._pages: int = one("SELECT count(*) FROM pages")
        self._bulk: int = one("SELECT coalesce(sum(size), 0) FROM bulk")
        self._hosts = {name for (name,) in self._connection.execute("SELECT name FROM hosts")}
        self._flows = set(self._connection.execute("SELECT copy, source FROM flows"))
        self._ends = self._connection.execute("SELECT min(place), max(place) FROM slices").fetchone()
        self._misses = dict(
            self._connection.execute("SELECT detector, count(*) FROM misses GROUP BY detector")
        )
        self._floors: dict[str, float] = {}
        for detector in self._misses:
            self._keep_nearest(detector)

    def begin(self, now: float, about: str) -> int:
        """Note that a run begins; return its id."""
        self._connection.execute("INSERT INTO runs (began, about) VALUES (?, ?)", (now, about))
        return self._one("SELECT max(id) FROM runs")

    def end(self, run: int, now: float) -> None:
        """Note that a run has ended."""
        self._connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (now, run))

    def write(self, batch: Batch) -> None:
        """Write a batch, whole or not at all."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._write_pages(batch)
        self._write_sums(batch.sums)
        self._write_state(batch)
        self._connection.execute("COMMIT")

    # -- pages --------------------------------------------------------------------------------

    def _write_pages(self, batch: Batch) -> None:
        rows, bulk = [], []
        for note, entry, cluster, earlier in batch.entries:
            self.last_page = max(self.last_page, note.id)
            hashed = hash_of(cluster or entry.url)
            if earlier is not None:
                self._forget_misses(note.id)
            is_near = self._note_misses(note, entry)
            place = self._place_in_cluster(cluster, hashed, entry.time, earlier)
            listed = is_sampled(hashed, self._level) and place <= self._bounds.of_cluster
            if not listed and not is_near:
                continue
            rows.append(self._row(note, entry, cluster, hashed))
            fits = is_sampled(hashed, self._bulk_level) and place <= self._bounds.texts_of_cluster
            if (fits or is_near) and (entry.text or entry.held):
                bulk.append(self._bulk_row(note, entry))
        self._insert(rows, bulk)
        changed = [(str(note.fate), note.requests, note.id) for note in batch.changed.values()]
        self._connection.executemany("UPDATE pages SET fate = ?, requests = ? WHERE id = ?", changed)
        self._trim()

    def _place_in_cluster(self, cluster: str, hashed: int, time: float, earlier: str | None) -> int:
        """Count a page of a cluster; return how many it has now."""
        if not cluster or not is_sampled(hashed, self._level):
            return 1
        if earlier == cluster:
            return self._one("SELECT coalesce(max(pages), 1) FROM clusters WHERE name = ?", cluster)
        if earlier:
            self._connection.execute("UPDATE clusters SET pages = pages - 1 WHERE name = ?", (earlier,))
        return self._one(_JOIN, cluster, hashed, time, time)

    def _row(self, note: Note, entry: Entry, cluster: str, hashed: int) -> tuple[object, ...]:
        bounds = self._bounds
        url, title = storable(entry.url, bounds.url), storable(entry.title, bounds.title)
        verdict = verdict_json(entry.verdict, bounds.url)
        about = (note.id, hashed, url, entry.time, entry.bytes, title, note.requests)
        return (*about, str(note.fate), cluster, verdict)

    def _bulk_row(self, note: Note, entry: Entry) -> tuple[object, ...]:
        # Texts lie as they are: to compress them would cost more than all else that is done for a page.
        text = entry.text[: self._bounds.text].encode("utf-8", "surrogatepass") or None
        held = pack_held(entry.held, self._bounds.url) if entry.held else None
        return note.id, len(text or b"") + len(held or b""), text, held

    def _insert(self, rows: Collection[tuple[object, ...]], bulk: Collection[tuple[object, ...]]) -> None:
        connection = self._connection
        connection.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT OR REPLACE INTO bulk VALUES (?, ?, ?, ?)", bulk)
        self._pages += len(rows)
        self._bulk += sum(row[1] for row in bulk)  # type: ignore[misc]

    # -- near misses --------------------------------------------------------------------------

    def _note_misses(self, note: Note, entry: Entry) -> bool:
        """Note the near misses of a page; return whether it has any that stay."""
        found = False
        for place, held in enumerate(entry.held):
            # The page that the verdict names is related to it, be it by nothing but the URL.
            if held.url != entry.verdict.of:
                found = self._note_miss(note, place, held) or found
        return found

    def _note_miss(self, note: Note, place: int, held: Held) -> bool:
        nearest = held.nearest
        if nearest is None or any(opinion.match for opinion in held.opinions):
            return False
        detector, similarity = nearest.detector, nearest.similarity or 0.0
        if similarity <= self._floors.get(detector, -1.0):
            return False
        self._connection.execute(
            "INSERT INTO misses (detector, similarity, page, place, old) VALUES (?, ?, ?, ?, ?)",
            (detector, similarity, note.id, place, storable(held.url, self._bounds.url)),
        )
        self._misses[detector] = self._misses.get(detector, 0) + 1
        if self._misses[detector] >= 2 * self._bounds.misses:
            self._keep_nearest(detector)
        return True

    def _forget_misses(self, page: int) -> None:
        """Forget what a page missed when it was judged before: by now it is held against others."""
        gone = self._connection.execute("DELETE FROM misses WHERE page = ? RETURNING detector", (page,))
        for (detector,) in gone.fetchall():
            self._misses[detector] -= 1

    def _keep_nearest(self, detector: str) -> None:
        most = self._bounds.misses
        self._connection.execute(
            "DELETE FROM misses WHERE detector = ?1 AND id NOT IN "
            "(SELECT id FROM misses WHERE detector = ?1 ORDER BY similarity DESC, id LIMIT ?2)",
            (detector, most),
        )
        self._misses[detector] = self._one("SELECT count(*) FROM misses WHERE detector = ?", detector)
        if self._misses[detector] >= most:
            least = "SELECT min(similarity) FROM misses WHERE detector = ?"
            self._floors[detector] = self._one(least, detector)

    # -- bounds -------------------------------------------------------------------------------

    def _trim(self) -> None:
        while self._pages > self._bounds.pages and self._level < _HIGHEST:
            self._level += 1
            self._bulk_level = max(self._level, self._bulk_level)
            self._forget_pages((1 << self._level) - 1)
        while self._bulk > self._bounds.bulk and self._bulk_level < _HIGHEST:
            self._bulk_level += 1
            self._forget_bulk((1 << self._bulk_level) - 1)

    def _forget_pages(self, mask: int) -> None:
        execute = self._connection.execute
        execute(f"DELETE FROM pages WHERE hash & ? != 0 AND id NOT IN {_PINNED}", (mask,))  # noqa: S608
        execute("DELETE FROM clusters WHERE hash & ? != 0", (mask,))
        execute("DELETE FROM bulk WHERE page NOT IN (SELECT id FROM pages)")
        self._pages = self._one("SELECT count(*) FROM pages")
        self._bulk = self._one("SELECT coalesce(sum(size), 0) FROM bulk")

    def _forget_bulk(self, mask: int) -> None:
        away = f"SELECT id FROM pages WHERE hash & ? != 0 AND id NOT IN {_PINNED}"  # noqa: S608
        self._connection.execute(f"DELETE FROM bulk WHERE page IN ({away})", (mask,))  # noqa: S608
        self._bulk = self._one("SELECT coalesce(sum(size), 0) FROM bulk")

    # -- counts -------------------------------------------------------------------------------

    def _write_sums(self, sums: Sums) -> None:
        self._add("counts", sums.counts.items())
        self._add("detectors", sums.detectors.items())
        self._add("bins", ((*key, n) for key, n in sums.bins.items()))
        self._add_hosts(sums)
        self._add_flows(sums)
        self._add_slices(sums)

    def _add(self, table: str, rows: Iterable[tuple[object, ...]]) -> None:
        self._connection.executemany(_ADD[table], rows)

    def _add_hosts(self, sums: Sums) -> None:
        rows: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for (host, place), n in sums.hosts.items():
            rows[self._admitted(host)][place] += n
        self._add("hosts", ((host, *counts) for host, counts in rows.items()))

    def _admitted(self, host: str) -> str:
        if host not in self._hosts:
            if len(self._hosts) >= self._bounds.hosts:
                return OTHERS
            self._hosts.add(host)
        return host

    def _add_flows(self, sums: Sums) -> None:
        rows: defaultdict[tuple[str, str], int] = defaultdict(int)
        for flow, n in sums.flows.items():
            if flow not in self._flows and len(self._flows) < self._bounds.flows:
                self._flows.add(flow)
            rows[flow if flow in self._flows else (OTHERS, OTHERS)] += n
        self._add("flows", ((*flow, n) for flow, n in rows.items()))

    def _add_slices(self, sums: Sums) -> None:
        if not sums.slices:
            return
        seconds = {second for second, _ in sums.slices}
        seconds |= {place * self._width for place in self._ends if place is not None}
        self._widen(width_for(seconds, self._width, self._bounds.slices))
        rows: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for (second, place), n in sums.slices.items():
            rows[second // self._width][place] += n
        self._add("slices", ((place, *counts) for place, counts in rows.items()))
        self._ends = self._connection.execute("SELECT min(place), max(place) FROM slices").fetchone()

    def _widen(self, width: int) -> None:
        if width == self._width:
            return
        found = self._connection.execute("SELECT place, kept, dropped, unchecked FROM slices")
        wider = folded({place: counts for place, *counts in found}, width // self._width)
        self._connection.execute("DELETE FROM slices")
        self._add("slices", ((place, *counts) for place, counts in wider.items()))
        self._width = width

    # -- state --------------------------------------------------------------------------------

    def _write_state(self, batch: Batch) -> None:
        state: dict[str, object] = {"level": self._level, "bulk_level": self._bulk_level}
        state |= {"width": self._width, "last_page": self.last_page}
        state |= {"lost": self._state("lost", 0) + batch.lost}
        state |= {f"threshold/{name}": value for name, value in batch.sums.thresholds.items()}
        state |= {f"trouble/{kind}": sentence for kind, sentence in batch.troubles.items()}
        self._connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", state.items())

    def _state(self, name: str, default: int) -> int:
        return self._one("SELECT coalesce(max(value), ?) FROM state WHERE name = ?", default, name)

    def _one(self, sql: str, *values: object) -> int:
        found: list[tuple[int]] = self._connection.execute(
            sql, values
        ).fetchall()  # it ends with its last row
        return found[0][0]
