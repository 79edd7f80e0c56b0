"""The folder in which a run keeps what it has done, so that it can go on after a break.

Below the output's folder, in ``_dedupcrawl``:

========================  ==============================================================================
``job.json``              what was asked for, and of which files
``prints/NAME.arrow``     the fingerprints of a part (Arrow), with ``NAME.json``:
                          what they were made of, and which rows could not be read
``given.arrow``           pages of earlier batches and stores that share a key with one of this corpus
``verdicts/NAME.arrow``   what is said of each row of a part (:mod:`dedupcrawl.batch.verdicts`)
``superseded.arrow``      which page takes the place of which, where the latest one wins
``solved.json``           of which fingerprints these verdicts are, and what they amount to
``written/NAME.json``     which verdicts an output was written by, and how large it is
``handed.json``           which stores were given the fingerprints
========================  ==============================================================================

Every file is written beside its place and renamed when it is whole; the JSON comes after what it tells of.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from dedupcrawl.errors import DedupError
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK_FOLDER = "_dedupcrawl"
SUMMARY_FILE = "summary.json"
SUPERSEDED_FILE = "superseded.jsonl"


@dataclass(frozen=True, slots=True)
class Workdir:
    """The places of all that a run writes below ``out``."""

    out: Path

    @property
    def folder(self) -> Path:
        """Where fingerprints and verdicts are."""
        return self.out / WORK_FOLDER

    def prints(self, name: str) -> Path:
        """The fingerprints of a part."""
        return self.folder / "prints" / f"{name}.arrow"

    def made(self, name: str) -> Path:
        """What they were made of."""
        return self.folder / "prints" / f"{name}.json"

    def verdicts(self, name: str) -> Path:
        """What is said of its rows."""
        return self.folder / "verdicts" / f"{name}.arrow"

    def written(self, name: str) -> Path:
        """What its output was written by."""
        return self.folder / "written" / f"{name}.json"

    def output(self, name: str) -> Path:
        """Where its output goes."""
        return self.out / name

    @property
    def job(self) -> Path:
        """What was asked for."""
        return self.folder / "job.json"

    @property
    def solved(self) -> Path:
        """Of what the verdicts are."""
        return self.folder / "solved.json"

    @property
    def handed(self) -> Path:
        """Who was given the fingerprints."""
        return self.folder / "handed.json"

    @property
    def given(self) -> Path:
        """Pages that were kept before."""
        return self.folder / "given.arrow"

    @property
    def superseded(self) -> Path:
        """Which page takes the place of which: rows, those that were given first in front."""
        return self.folder / "superseded.arrow"

    @property
    def summary(self) -> Path:
        """What it all came to; there only when everything else is."""
        return self.out / SUMMARY_FILE

    def has_prints(self) -> bool:
        """Whether any part was fingerprinted."""
        return any(self.prints("").parent.rglob("*.json"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out.

        Raises :class:`~dedupcrawl.errors.DedupError` if one is in, or the folder cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "lock", timeout=0)
            lock.acquire()
        except Timeout:
            raise DedupError(f"{self.out}: another run is writing there") from None
        except OSError as error:
            raise DedupError(f"{self.out}: cannot be written: {error.strerror or error}") from error
        try:
            yield
        finally:
            lock.release()


@dataclass(frozen=True, slots=True)
class PartState:
    """What the fingerprints of a part were made of, and what could not be read."""

    path: str
    size: int  #: of the file, in bytes
    mtime: int  #: of the file, in nanoseconds since 1970
    making: str  #: digest of the configuration
    rows: int = 0  #: in the part, bad ones included
    bad: int = 0
    bad_rows: list[list[Any]] = field(default_factory=list)  #: the first of them: number and reason
    broken: list[Any] | None = None  #: the first row of a rest that cannot be read, and why

    @classmethod
    def of(cls, path: Path, making: str) -> Self:
        """Look at the file as it is now. Raises :class:`OSError` where it cannot be seen."""
        there = path.stat()
        return cls(str(path.resolve()), there.st_size, there.st_mtime_ns, making)

    def fits(self, other: PartState) -> bool:
        """Whether both are made of the same."""
        return (self.path, self.size, self.mtime, self.making) == (
            other.path, other.size, other.mtime, other.making
        )  # fmt: skip


def write_state(path: Path, state: Any) -> None:
    """Write JSON values, or a dataclass of them."""
    plain = state if isinstance(state, dict) else asdict(state)
    with atomic_output(path) as part:
        part.write_text(json.dumps(plain, ensure_ascii=False, indent=2) + "\n", "utf-8", "surrogatepass")


def read_state(path: Path) -> dict[str, Any] | None:
    """Read what :func:`write_state` wrote; None where nothing is, or what cannot be read."""
    try:
        state = json.loads(path.read_text("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None


def read_part_state(work: Workdir, name: str) -> PartState | None:
    """Return what the fingerprints of a part were made of, if they are there."""
    state = read_state(work.made(name))
    if state is None or not work.prints(name).exists():
        return None
    try:
        return PartState(**state)
    except TypeError:
        return None
