"""The files of a corpus: those that are named, match a pattern, or lie in a folder.

Names for outputs: short, and another one for each file.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import Part
from dedupcrawl.batch.formats.compression import COMPRESSION_SUFFIXES
from dedupcrawl.batch.workdir import SUPERSEDED_FILE, WORK_FOLDER
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def distinct_names(files: Sequence[tuple[Path, str]]) -> list[str]:
    """Name each file; of those with one name, folders are set before the name until they differ.

    So they are before a name that is that of a folder of others.

    Args:
        files: absolute paths, each another one, and the name that each would like: the end of its path.
    """
    names = [name for _, name in files]
    while True:
        counts = Counter(names)
        folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
        longer = [
            _with_parent(path, name) if counts[name] > 1 or name in folders else name
            for (path, _), name in zip(files, names, strict=True)
        ]
        if longer == names:
            return names
        names = longer


def _with_parent(path: Path, name: str) -> str:
    parts = [part for part in path.parts if part != path.anchor]
    return "/".join(parts[-(name.count("/") + 2) :])


#: How files are named, without their packing, and the format that reads them.
FORMAT_BY_SUFFIX = {
    ".jsonl": "jsonlines",
    ".jl": "jsonlines",
    ".ndjson": "jsonlines",
    ".warc": "warc",
    ".wet": "warc",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_INTERNALLY_COMPRESSED = ("parquet",)  #: formats that pack their insides
ACCEPTED = (
    "files that end in .jsonl, .jl, .ndjson, .warc or .wet (packed as .gz or .zst, or not), .parquet or .pq, "
    "folders of them, and patterns"
)


def find_parts(inputs: Iterable[str | Path], *, out: Path | None = None) -> tuple[Part, ...]:
    """Return the files of a corpus in the order of arrival.

    That is the order of the inputs; within a folder, or a pattern, that of the names. In folders, files of
    other kinds are left alone, and all whose name, or whose folder's, begins with "." or "_"; so is the list
    of what was superseded in an earlier batch.

    Args:
        inputs: files, folders, and patterns of the shell with *, ?, [] or **.
        out: where results are to be written: what folders and patterns find there is left alone.

    Raises:
        DedupError: an input is not there, has no file of a corpus in it, names one that another has named
            before, lies in ``out``, or has a name that is not UTF-8.
    """
    found = [each for where in inputs for each in _files_of_input(str(where), out)]
    if not found:
        raise DedupError(f"no input; accepted are {ACCEPTED}")
    _check_utf8([*(path for path, _ in found), *([out] if out else [])])
    resolved = [path.resolve() for path, _ in found]
    _check_distinct(resolved)
    names = distinct_names([(_absolute(path), name) for path, name in found])
    return tuple(
        Part(number, path, name, format_of(path) or "")
        for number, ((path, _), name) in enumerate(zip(found, names, strict=True))
    )


def format_of(path: Path) -> str | None:
    """Return the format of a file by its name."""
    name = path.name.lower()
    packed = name.endswith(COMPRESSION_SUFFIXES)
    stem = name.rpartition(".")[0] if packed else name
    known = FORMAT_BY_SUFFIX.get(Path(stem).suffix)
    return None if packed and known in _INTERNALLY_COMPRESSED else known


def _files_of_input(where: str, out: Path | None) -> Iterator[tuple[Path, str]]:
    """Give the files of one input, and the names they would like."""
    path = Path(where)
    if path.is_dir():
        files = [file for file in _files_below(path) if format_of(file) and not _is_inside(file, out)]
        base = path
    elif path.exists():
        files, base = [_checked_file(path, out)], path.parent
    elif glob.has_magic(where):
        files = [file for file in _matching_files(where) if not _is_inside(file, out)]
        base = _base_folder(path)
    else:
        raise DedupError(f"{where}: no such file or folder")
    if not files:
        raise DedupError(f"{where}: no file of a corpus; accepted are {ACCEPTED}")
    return ((file, _output_name(file, base)) for file in files)


def _output_name(file: Path, base: Path) -> str:
    """Name a file by its place below a folder, without any ".."."""
    whole, start = _absolute(file), _absolute(base)
    return whole.relative_to(start).as_posix() if whole.is_relative_to(start) else whole.name


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  # it takes ".." out and leaves links as they are named


def _checked_file(path: Path, out: Path | None) -> Path:
    if not format_of(path):
        raise DedupError(f"{path}: no file of a corpus; accepted are {ACCEPTED}")
    if _is_inside(path, out):
        raise DedupError(f"{path}: the input lies in {out}, where the results are to be written")
    return path


def _files_below(folder: Path) -> list[Path]:
    """Return the files below a folder in the order of their paths."""
    found: list[Path] = []
    for base, folders, files in os.walk(folder, onerror=_raise_unreadable):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += (Path(base, name) for name in files if not name.startswith((".", "_")))
    found = [path for path in found if not _is_superseded_list(path)]
    return sorted(found, key=lambda path: path.parts)


def _raise_unreadable(error: OSError) -> None:
    raise DedupError(f"{error.filename}: cannot be read: {error.strerror}") from error


def _matching_files(pattern: str) -> list[Path]:
    """Return the files that match, in order, and those in folders that match.

    As no sign of a pattern stands for a "." at the beginning of a name, none stands for a "_".
    """
    files: dict[Path, None] = {}
    base, asked = _base_folder(Path(pattern)), any(part.startswith("_") for part in Path(pattern).parts)
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207  # it takes absolute ones too
        path = Path(match)
        if not asked and any(part.startswith("_") for part in path.parts[len(base.parts) :]):
            continue
        within = _files_below(path) if path.is_dir() and "**" not in pattern else [path]
        within = [file for file in within if not _is_superseded_list(file)]
        files |= dict.fromkeys(file for file in within if file.is_file() and format_of(file))
    return list(files)


def _base_folder(pattern: Path) -> Path:
    """Return the folder before the first sign of a pattern."""
    fixed = []
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def _is_inside(path: Path, out: Path | None) -> bool:
    return out is not None and path.resolve().is_relative_to(out.resolve())


def _is_superseded_list(path: Path) -> bool:
    """Whether a file lists what was superseded in the batch whose output it lies with."""
    return path.name == SUPERSEDED_FILE and (path.parent / WORK_FOLDER).is_dir()


def _check_utf8(paths: list[Path]) -> None:
    """Refuse names that Arrow, which takes them for UTF-8, cannot open."""
    for path in paths:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            raise DedupError(f"{shown}: the name is not UTF-8; it needs another one") from None


def _check_distinct(paths: list[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path in seen:
            raise DedupError(f"{path}: the file is among the inputs twice")
        seen.add(path)
