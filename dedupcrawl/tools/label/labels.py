"""The file of labels: JSON Lines, each with all that is needed to judge its pair again.

A line is ``{"label": "same" | "different" | "skip", "pair": …, "new": {"url", "title", "text"}, "old": {…},
"relation", "similarity", "detector", "stratum": {…}, "time"}``. Of a pair with several lines the last one
counts; ``{"label": "undone", "pair": …}`` takes back what stands before it. Whatever was labelled by other
means needs ``label`` and the two texts only.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from os import SEEK_END
from typing import TYPE_CHECKING, Any

import orjson
from filelock import FileLock, Timeout

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.sampling import OfferedPage, OfferedPair, Stratum
from dedupcrawl.utils.resources import Closing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


class Answer(StrEnum):
    """What can be said of a pair."""

    SAME = "same"
    DIFFERENT = "different"
    SKIP = "skip"


_UNDONE = "undone"
_BEGINNING = b'{"label":"'  #: of every line that is written here


@dataclass(frozen=True, slots=True)
class Label:
    """What a person said of a pair."""

    pair: OfferedPair
    answer: Answer
    stratum: Stratum | None  #: None: it was not drawn by ``dedupcrawl label``
    time: float = 0.0  #: Unix time


def read_labels(path: Path) -> list[Label]:
    """Return what counts of a file, in its order; a last line that was cut off in writing is left out.

    Raises:
        DedupError: the file or a line of it cannot be read; the message names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error.strerror}") from error
    return list(_read(path, data[: data.rfind(b"\n") + 1] if _is_torn(data) else data).values())


class LabelFile(Closing):
    """A file of labels to which labels are added, by one session at a time.

    Raises:
        DedupError: another session writes to it, it holds something else, or it cannot be written.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock
        if not path.absolute().parent.is_dir():  # the lock would make it
            raise DedupError(f"{path} cannot be written: there is no folder {path.parent}")
        self._lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise DedupError(f"{path} is being written by another session of dedupcrawl label") from None
        except OSError as error:
            raise DedupError(f"{path} cannot be written: {error.strerror}") from error
        try:
            self.labels = self._begin()
        except BaseException:
            self._let_go()
            raise

    def _begin(self) -> dict[str, Label]:
        try:
            self._is_new = not self._path.exists()
            data = b"" if self._is_new else self._path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1] if _is_torn(data) else data
            labels = _read(self._path, whole)
            self._file = self._path.open("ab", buffering=0)
            self._file.truncate(len(whole))
            self._file.seek(0, SEEK_END)
            if whole and not whole.endswith(b"\n"):
                self._write(b"")
        except OSError as error:
            raise DedupError(f"{self._path} cannot be written: {error.strerror}") from error
        return labels

    def add(self, pair: OfferedPair, answer: Answer, stratum: Stratum) -> None:
        """Write a label down, at once."""
        label = Label(pair, answer, stratum, round(self._clock(), 3))
        self._write(orjson.dumps(_plain(label)))
        self.labels[pair.id] = label

    def undo(self, pair: OfferedPair) -> None:
        """Take the label of a pair back, at once."""
        self._write(orjson.dumps({"label": _UNDONE, "pair": pair.id, "time": round(self._clock(), 3)}))
        self.labels.pop(pair.id, None)

    def close(self) -> None:
        """Let others write to the file; one that was made for nothing goes."""
        is_empty = self._is_new and not self._file.tell()
        self._file.close()
        if is_empty:
            self._path.unlink(missing_ok=True)
        self._let_go()

    def _write(self, line: bytes) -> None:
        """Write a line to its end, or nothing of it."""
        begin, rest = self._file.tell(), memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(begin)
            raise DedupError(f"{self._path} cannot be written: {error.strerror}") from error

    def _let_go(self) -> None:
        """Remove the lock file while it is still ours, then the lock."""
        self._path.with_name(f"{self._path.name}.lock").unlink(missing_ok=True)
        self._lock.release()


def _is_torn(data: bytes) -> bool:
    """Whether the last line is one of ours, and was not written to its end."""
    last = data[data.rfind(b"\n") + 1 :]
    if not last or not (last.startswith(_BEGINNING) or _BEGINNING.startswith(last)):
        return False
    try:
        orjson.loads(last)
    except orjson.JSONDecodeError:
        return True
    return False


def _plain(label: Label) -> dict[str, object]:
    pair = label.pair
    return {
        "label": str(label.answer),
        "pair": pair.id,
        "new": asdict(pair.new),
        "old": asdict(pair.old),
        "relation": pair.relation,
        "similarity": round(pair.similarity, 6),
        "detector": pair.detector,
        "cluster": pair.cluster,
        "is_dropped": pair.is_dropped,
        "stratum": None if label.stratum is None else asdict(label.stratum),
        "time": label.time,
    }


def _read(path: Path, data: bytes) -> dict[str, Label]:
    found: dict[str, Label] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = _row(orjson.loads(line))
            if row["label"] == _UNDONE:
                found.pop(str(row["pair"]), None)
                continue
            label = _label(row)
        except (ValueError, TypeError, KeyError) as error:
            raise DedupError(f"{path}, line {number}: not a row of a labels file: {error}") from error
        found.pop(label.pair.id, None)
        found[label.pair.id] = label
    return found


def _row(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("a row is a JSON object with label, new and old")
    needed = ("label", "pair") if value.get("label") == _UNDONE else ("label", "new", "old")
    _need(value, needed)
    return value


def _need(row: dict[str, Any], names: Iterable[str]) -> None:
    missing = [name for name in names if row.get(name) is None]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing")


def _label(row: dict[str, Any]) -> Label:
    accepted = ", ".join(map(repr, map(str, Answer)))
    if row["label"] not in tuple(Answer):
        raise ValueError(f"label is {row['label']!r}, and may be {accepted}")
    pair = OfferedPair(
        new=_side(row["new"], "new"),
        old=_side(row["old"], "old"),
        relation=str(row.get("relation") or ""),
        similarity=float(row.get("similarity") or 0.0),
        detector=str(row.get("detector") or ""),
        cluster=str(row.get("cluster") or ""),
        is_dropped=bool(row.get("is_dropped")),
    )
    return Label(pair, Answer(row["label"]), _stratum(row.get("stratum")), float(row.get("time") or 0.0))


def _side(value: object, name: str) -> OfferedPage:
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise TypeError(f"{name} is an object with a text, and may have url and title")
    url, title = (str(value.get(each) or "") for each in ("url", "title"))
    return OfferedPage(url, title, value["text"], bool(value.get("is_cut")))


def _stratum(value: object) -> Stratum | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError("stratum is an object")
    _need(value, ("run", "kind", "zone", "around", "size"))
    run, kind, zone = (str(value[name]) for name in ("run", "kind", "zone"))
    return Stratum(run, kind, zone, float(value["around"]), int(value["size"]))
