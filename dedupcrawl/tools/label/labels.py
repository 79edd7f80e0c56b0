"""The file of labels, and the session that fills it: the current pair, the answers so far, and the progress.

The file is JSON Lines, each with everything needed to judge its pair again.
A line is ``{"label": "same" | "different" | "skip", "pair": …, "new": {"url", "title", "text"}, "old": {…},
"relation", "similarity", "detector", "stratum": {…}, "time"}``. If a pair has several lines, the last one
counts. ``{"label": "undone", "pair": …}`` removes the lines of the pair before it. Labels from elsewhere need
only ``label`` and the two texts.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from os import SEEK_END
from threading import RLock
from typing import TYPE_CHECKING, Any

import orjson
from filelock import FileLock, Timeout

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.pairs import OfferedPage, OfferedPair, StratumPairs
from dedupcrawl.utils.resources import ClosingContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from dedupcrawl.tools.label.pairs import StratifiedSample


class AnswerKind(StrEnum):
    """The possible answers on a pair."""

    SAME = "same"
    DIFFERENT = "different"
    SKIP = "skip"


_UNDONE = "undone"
_LINE_START = b'{"label":"'  #: of every line written here


@dataclass(frozen=True, slots=True)
class Label:
    """The answer of a person on a pair."""

    pair: OfferedPair
    answer: AnswerKind
    stratum: StratumPairs | None  #: None: it was not sampled by ``dedupcrawl label``
    time: float = 0.0  #: Unix time


def read_labels(path: Path) -> list[Label]:
    """Return the labels in force of a file, in order; an incomplete last line is ignored.

    Raises:
        DedupError: the file or a line of it cannot be read; the message names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error.strerror}") from error
    return list(_read(path, _whole_lines(data)).values())


class LabelFile(ClosingContext):
    """A file of labels, open for one session.

    Args:
        path: the file; created if it does not exist.
        clock: returns the Unix time.

    Raises:
        DedupError: another session writes to the file, it is no file of labels, or it cannot be written.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock
        if not path.absolute().parent.is_dir():  # the lock would create it
            raise DedupError(f"{path} cannot be written: there is no folder {path.parent}")
        self._lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise DedupError(f"{path} is being written by another session of dedupcrawl label") from None
        except OSError as error:
            raise DedupError(f"{path} cannot be written: {error.strerror}") from error
        try:
            self.labels = self._open()
        except BaseException:
            self._unlock()
            raise

    def _open(self) -> dict[str, Label]:
        try:
            self._is_new = not self._path.exists()
            whole = b"" if self._is_new else _whole_lines(self._path.read_bytes())
            labels = _read(self._path, whole)
            self._file = self._path.open("ab", buffering=0)
            self._file.truncate(len(whole))
            self._file.seek(0, SEEK_END)
            if whole and not whole.endswith(b"\n"):
                self._write(b"")
        except OSError as error:
            raise DedupError(f"{self._path} cannot be written: {error.strerror}") from error
        return labels

    def add(self, pair: OfferedPair, answer: AnswerKind, stratum: StratumPairs) -> None:
        """Write a label at once."""
        label = Label(pair, answer, stratum, round(self._clock(), 3))
        self._write(orjson.dumps(_plain(label)))
        self.labels[pair.id] = label

    def undo(self, pair: OfferedPair) -> None:
        """Remove the label of a pair at once."""
        self._write(orjson.dumps({"label": _UNDONE, "pair": pair.id, "time": round(self._clock(), 3)}))
        self.labels.pop(pair.id, None)

    def close(self) -> None:
        """Close and unlock the file; remove it if it was created and is empty."""
        is_empty = self._is_new and not self._file.tell()
        self._file.close()
        if is_empty:
            self._path.unlink(missing_ok=True)
        self._unlock()

    def _write(self, line: bytes) -> None:
        """Write a whole line, or nothing."""
        begin, rest = self._file.tell(), memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(begin)
            raise DedupError(f"{self._path} cannot be written: {error.strerror}") from error

    def _unlock(self) -> None:
        """Remove the lock file, then release the lock: after the release it may belong to another session."""
        self._path.with_name(f"{self._path.name}.lock").unlink(missing_ok=True)
        self._lock.release()


def _whole_lines(data: bytes) -> bytes:
    """Remove a last line that was written here and is incomplete."""
    start = data.rfind(b"\n") + 1
    last = data[start:]
    if last.startswith(_LINE_START) or _LINE_START.startswith(last):
        try:
            orjson.loads(last)
        except orjson.JSONDecodeError:
            return data[:start]
    return data


def _plain(label: Label) -> dict[str, object]:
    return {
        "label": str(label.answer),
        "pair": label.pair.id,
        **asdict(label.pair),
        "similarity": round(label.pair.similarity, 6),
        "stratum": None if label.stratum is None else asdict(label.stratum),
        "time": label.time,
    }


def _read(path: Path, data: bytes) -> dict[str, Label]:
    found: dict[str, Label] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
            if isinstance(row, dict) and row.get("label") == _UNDONE:
                _require(row, ("pair",))
                found.pop(str(row["pair"]), None)
                continue
            label = _label(row)
        except (ValueError, TypeError, KeyError) as error:
            raise DedupError(f"{path}, line {number}: not a row of a labels file: {error}") from error
        found.pop(label.pair.id, None)
        found[label.pair.id] = label
    return found


def _require(row: dict[str, Any], names: Iterable[str]) -> None:
    missing = [name for name in names if row.get(name) is None]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing")


def _label(row: object) -> Label:
    if not isinstance(row, dict):
        raise TypeError("a row is a JSON object with label, new and old")
    _require(row, ("label", "new", "old"))
    if row["label"] not in tuple(AnswerKind):
        raise ValueError(f"label is {row['label']!r}; accepted are {', '.join(map(repr, map(str, AnswerKind)))}")
    new, old = (_side(row[name], name) for name in ("new", "old"))
    relation, detector, cluster = (str(row.get(name) or "") for name in ("relation", "detector", "cluster"))
    similarity, is_dropped = float(row.get("similarity") or 0.0), bool(row.get("is_dropped"))
    pair = OfferedPair(new, old, relation, similarity, detector, cluster, is_dropped)
    return Label(pair, AnswerKind(row["label"]), _stratum(row.get("stratum")), float(row.get("time") or 0.0))


def _side(value: object, name: str) -> OfferedPage:
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise TypeError(f"{name} is an object with a text, and may have url and title")
    url, title = (str(value.get(each) or "") for each in ("url", "title"))
    return OfferedPage(url, title, value["text"], bool(value.get("is_cut")))


def _stratum(value: object) -> StratumPairs | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError("stratum is an object")
    _require(value, ("run", "kind", "zone", "around", "size"))
    run, kind, zone = (str(value[name]) for name in ("run", "kind", "zone"))
    return StratumPairs(run, kind, zone, float(value["around"]), int(value["size"]))


# -- session ------------------------------------------------------------------------------------


class StaleAnswerError(DedupError):
    """The answer is not to the current question: it comes from another window, or was sent twice."""


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """The progress of a session."""

    done: int  #: answers in this session
    goal: int  #: questions in this session; fewer than requested if there are not so many pairs
    same: int  #: in this session
    different: int
    skipped: int
    labelled: int  #: same and different in the whole file
    left: int  #: pairs of the run not asked about


class LabelSession:
    """Asks about the pairs of a run, one after the other; thread-safe.

    Args:
        sampler: the pairs.
        file: where the labels are written; pairs that it contains are not asked about again.
        goal: how many pairs to ask about.
    """

    def __init__(self, sampler: StratifiedSample, file: LabelFile, goal: int) -> None:
        self._sampler, self._file, self._goal = sampler, file, goal
        self._answers: list[tuple[OfferedPair, AnswerKind]] = []
        self._lock = RLock()
        self._current = self._next()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent changes by other threads within the context."""
        with self._lock:
            yield

    @property
    def current(self) -> OfferedPair | None:
        """The pair to answer; None: the session is finished."""
        with self._lock:
            return self._current

    @property
    def last(self) -> tuple[OfferedPair, AnswerKind] | None:
        """The last answer of this session, with its pair."""
        with self._lock:
            return self._answers[-1] if self._answers else None

    @property
    def progress(self) -> LabelProgress:
        """The progress so far."""
        with self._lock:
            answers = [answer for _, answer in self._answers]
            left = self._sampler.remaining(self._file.labels.keys())
            return LabelProgress(
                done=len(answers),
                goal=min(self._goal, len(answers) + left),
                same=answers.count(AnswerKind.SAME),
                different=answers.count(AnswerKind.DIFFERENT),
                skipped=answers.count(AnswerKind.SKIP),
                labelled=sum(label.answer is not AnswerKind.SKIP for label in self._file.labels.values()),
                left=left,
            )

    def answer(self, id: str, answer: AnswerKind) -> None:
        """Write the answer to the file and go on to the next pair.

        Args:
            id: id of the current pair.
            answer: the answer.

        Raises:
            StaleAnswerError: another pair is the current one.
        """
        with self._lock:
            pair = self._current
            if pair is None or pair.id != id:
                raise StaleAnswerError("this pair is not the current one")
            self._file.add(pair, answer, self._sampler.stratum(pair))
            self._answers.append((pair, answer))
            self._current = self._next()

    def undo(self) -> None:
        """Remove the last answer of this session, if there is one, and ask about its pair again."""
        with self._lock:
            if not self._answers:
                return
            pair, _ = self._answers[-1]
            self._file.undo(pair)  # first: if writing fails, nothing has changed
            self._answers.pop()
            self._current = pair

    def extend(self, more: int) -> None:
        """Ask about ``more`` further pairs."""
        with self._lock:
            self._goal += more
            self._current = self._current or self._next()

    def _next(self) -> OfferedPair | None:
        if len(self._answers) >= self._goal:
            return None
        return self._sampler.next_pair(self._file.labels.keys(), self._answers[-1][0] if self._answers else None)
