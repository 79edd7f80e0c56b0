"""The work folder of a run: what is finished, so that an interrupted run can continue.

Below the output folder, in ``_dedupcrawl``:

========================  ==============================================================================
``job.json``              the job and its input files
``prints/NAME.arrow``     the fingerprints of a part (Arrow)
``prints/NAME.json``      the file they were made from, and the rows that could not be read
``texts/NAME.arrow``      the texts of these pages (:mod:`dedupcrawl.batch.repeated_text`)
``sites.json``            what sites repeat
``reduced/NAME.arrow``    fingerprints without that; missing for a part in which it changes none
``given.arrow``           pages of earlier batches and stores that share a key with a page of this corpus
``verdicts/NAME.arrow``   the verdict of each row of a part (:mod:`dedupcrawl.batch.verdicts`)
``superseded.arrow``      which page replaces which, if the latest page is kept
``solved.json``           from which fingerprints the verdicts were made, and their counts
``written/NAME.json``     from which verdicts an output file was written, and its size
``handed.json``           to which stores the fingerprints were exported
========================  ==============================================================================

Every file is written under a temporary name and then renamed; a JSON file after the data it describes.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from dedupcrawl.errors import DedupError
from dedupcrawl.utils.redaction import hide_password
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

WORK_FOLDER = "_dedupcrawl"
SUMMARY_FILE = "summary.json"
SUPERSEDED_FILE = "superseded.jsonl"


class _WorkFile:
    """A file in the work folder of a :class:`Workdir`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, work: Workdir, owner: type[Workdir]) -> Path:
        return work.folder / self._name


@dataclass(frozen=True, slots=True)
class Workdir:
    """The paths of all files that a run writes below ``out``; ``name`` is that of a part."""

    out: Path
    job = _WorkFile("job.json")  #: the job and its input files
    solution = _WorkFile("solved.json")  #: from what the verdicts were made, and their counts
    exports = _WorkFile("handed.json")  #: the stores to which the fingerprints were exported
    prior_pages = _WorkFile("given.arrow")  #: the fingerprints of pages that count as kept
    site_tables = _WorkFile("sites.json")  #: packed tables of sites, in hexadecimal digits
    superseded = _WorkFile("superseded.arrow")  #: rows of pages that replace others

    @property
    def folder(self) -> Path:
        """The work folder."""
        return self.out / WORK_FOLDER

    def fingerprints(self, name: str) -> Path:
        """The fingerprints of a part, made of the whole texts."""
        return self.folder / "prints" / f"{name}.arrow"

    def texts(self, name: str) -> Path:
        """The texts of a part."""
        return self.folder / "texts" / f"{name}.arrow"

    def reduced(self, name: str) -> Path:
        """The fingerprints of a part without what sites repeat."""
        return self.folder / "reduced" / f"{name}.arrow"

    def compared(self, name: str) -> Path:
        """The fingerprints of a part that are compared."""
        reduced = self.reduced(name)
        return reduced if reduced.exists() else self.fingerprints(name)

    def part_state(self, name: str) -> Path:
        """The :class:`PartState` of these fingerprints."""
        return self.folder / "prints" / f"{name}.json"

    def verdicts(self, name: str) -> Path:
        """The verdicts of a part."""
        return self.folder / "verdicts" / f"{name}.arrow"

    def output_state(self, name: str) -> Path:
        """From which verdicts the output of a part was written."""
        return self.folder / "written" / f"{name}.json"

    def output(self, name: str) -> Path:
        """The output of a part."""
        return self.out / name

    @property
    def summary(self) -> Path:
        """The summary; written last."""
        return self.out / SUMMARY_FILE

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other runs; raises DedupError if it is locked or cannot be written."""
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
    """The file that the fingerprints of a part were made from, and the rows that could not be read."""

    path: str
    size: int  #: of the file, in bytes
    mtime: int  #: of the file, in nanoseconds since 1970
    making: str  #: digest of the configuration
    rows: int = 0  #: including bad ones
    bad: int = 0  #: rows that could not be read
    bad_rows: list[list[Any]] = field(default_factory=list)  #: the first of them: number and reason
    textless: int = 0  #: rows whose columns of HTML and text are empty; they are kept unchecked
    textless_rows: list[list[Any]] = field(default_factory=list)  #: the first of them: number and reason
    broken: list[Any] | None = None  #: first row that cannot be read, and why; the rows after it are not read

    @classmethod
    def of(cls, path: Path, making: str) -> Self:
        """Return the current state of a file; raises OSError if it cannot be read."""
        stat = path.stat()
        return cls(str(path.resolve()), stat.st_size, stat.st_mtime_ns, making)

    def has_same_input(self, other: PartState) -> bool:
        """Return whether file and configuration are unchanged."""
        return (self.path, self.size, self.mtime, self.making) == (
            other.path, other.size, other.mtime, other.making
        )  # fmt: skip


_PART_FIELDS = {each.name for each in fields(PartState)}


def write_state(path: Path, state: Any) -> None:
    """Write a dictionary of JSON values, or a dataclass of them."""
    values = state if isinstance(state, dict) else asdict(state)
    with atomic_output(path) as temporary:
        text = json.dumps(values, ensure_ascii=False, indent=2) + "\n"
        temporary.write_text(text, "utf-8", "surrogatepass")


def read_state(path: Path) -> dict[str, Any] | None:
    """Read a file of :func:`write_state`; None if it is missing or damaged."""
    try:
        state = json.loads(path.read_text("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None


def write_site_tables(work: Workdir, tables: Mapping[str, bytes]) -> str:
    """Write packed tables of sites, and return a digest of them; "" for none, which are not written."""
    if not tables:
        work.site_tables.unlink(missing_ok=True)
        return ""
    values = {site: tables[site].hex() for site in sorted(tables)}
    write_state(work.site_tables, values)
    return blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


def read_site_tables(work: Workdir) -> dict[str, bytes]:
    """Return the tables that :func:`write_site_tables` wrote; none if there is no file.

    Raises DedupError if they cannot be read.
    """
    found = read_state(work.site_tables)
    if found is None and work.site_tables.exists():
        raise DedupError(f"{work.site_tables}: what sites repeat cannot be read")
    return {site: bytes.fromhex(value) for site, value in (found or {}).items()}


def read_part_state(work: Workdir, name: str) -> PartState | None:
    """Return the state of a part; None if it has not been fingerprinted."""
    state = read_state(work.part_state(name))
    if state is None or not work.fingerprints(name).exists():
        return None
    return PartState(**state) if state.keys() == _PART_FIELDS else None


def read_finished(
    work: Workdir, where: object, note: str = ""
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return ``job.json``, ``solved.json`` and ``summary.json`` of a finished batch.

    Raises DedupError if the folder has no batch, or an unfinished one; the message names ``where`` and adds
    ``note``.
    """
    job, solution, summary = map(read_state, (work.job, work.solution, work.summary))
    if job is None:
        raise DedupError(f"{hide_password(str(where))}: no folder of a batch{note}")
    if solution is None or summary is None:
        raise DedupError(f"{where}: the batch there has not come to its end{note}; run it again first")
    return job, solution, summary
