"""Input files of a corpus: how they are found by path, pattern or folder, read, and written again."""

from __future__ import annotations

import glob
import os
from collections import Counter
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import ANNOTATION_COLUMNS, BadRow, Chunk, Fields, Format, Part, PartError, Row
from dedupcrawl.batch.formats.compression import COMPRESSION_SUFFIXES
from dedupcrawl.batch.workdir import SUPERSEDED_FILE, WORK_FOLDER
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


__all__ = [
    "ANNOTATION_COLUMNS",
    "BadRow",
    "Chunk",
    "Fields",
    "Format",
    "Part",
    "PartError",
    "Row",
    "find_parts",
    "format_named",
]


_CLASSES = {"jsonlines": "JsonLinesFormat", "parquet": "ParquetFormat", "warc": "WarcFormat"}


def format_named(name: str) -> Format:
    """Return the format ``jsonlines``, ``parquet`` or ``warc``; imports its optional packages."""
    found: Format = getattr(import_module(f"dedupcrawl.batch.formats.{name}"), _CLASSES[name])()
    return found


#: The format of a file by its suffix, without that of a compression.
FORMAT_BY_SUFFIX = {
    ".jsonl": "jsonlines",
    ".jl": "jsonlines",
    ".ndjson": "jsonlines",
    ".warc": "warc",
    ".wet": "warc",
    ".parquet": "parquet",
    ".pq": "parquet",
}
ACCEPTED = (
    "files that end in .jsonl, .jl, .ndjson, .warc or .wet (packed as .gz or .zst, or not), .parquet or .pq, "
    "folders of them, and patterns"
)


def find_parts(inputs: Iterable[str | Path], *, out: Path | None = None) -> tuple[Part, ...]:
    """Return the files of a corpus in order of arrival.

    The order is that of the inputs; within a folder or a pattern, that of the paths. In folders these files
    are ignored: those of other formats, those below a name that starts with "." or "_", and the list of
    superseded pages of an earlier batch.

    Args:
        inputs: files, folders, and patterns of the shell with ``*``, ``?``, ``[]`` or ``**``.
        out: the output folder; folders and patterns ignore the files in it.

    Raises:
        DedupError: an input does not exist, has no file of a known format, names a file twice, is in ``out``,
            or has a name that is not UTF-8.
    """
    found = [each for where in inputs for each in _files_of_input(str(where), out)]
    if not found:
        raise DedupError(f"no input; accepted are {ACCEPTED}")
    _check_utf8([*(path for path, _ in found), *([out] if out else [])])
    _check_distinct([path.resolve() for path, _ in found])
    names = distinct_names([(_absolute(path), name) for path, name in found])
    return tuple(
        Part(number, path, name, format_of(path) or "")
        for number, ((path, _), name) in enumerate(zip(found, names, strict=True))
    )


def format_of(path: Path) -> str | None:
    """Return the format of a file by its name; None if it is unknown."""
    name = path.name.lower()
    is_compressed = name.endswith(COMPRESSION_SUFFIXES)
    stem = name.rpartition(".")[0] if is_compressed else name
    known = FORMAT_BY_SUFFIX.get(Path(stem).suffix)
    return None if is_compressed and known == "parquet" else known  # Parquet compresses its columns itself


def _files_of_input(where: str, out: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the files of one input, each with the name its output should have."""
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
    whole, start = _absolute(file), _absolute(base)
    return whole.relative_to(start).as_posix() if whole.is_relative_to(start) else whole.name


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  # removes ".." without resolving links


def _checked_file(path: Path, out: Path | None) -> Path:
    if not format_of(path):
        raise DedupError(f"{path}: no file of a corpus; accepted are {ACCEPTED}")
    if _is_inside(path, out):
        raise DedupError(f"{path}: the input lies in {out}, where the results are to be written")
    return path


def _files_below(folder: Path) -> list[Path]:
    """Return the files below a folder, sorted by path."""
    found: list[Path] = []
    for base, folders, files in os.walk(folder, onerror=_raise_unreadable):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += (Path(base, name) for name in files if not name.startswith((".", "_")))
    return sorted((path for path in found if not _is_superseded_list(path)), key=lambda path: path.parts)


def _raise_unreadable(error: OSError) -> None:
    raise DedupError(f"{error.filename}: cannot be read: {error.strerror}") from error


def _matching_files(pattern: str) -> list[Path]:
    """Return the files that match, and those in folders that match, sorted by path.

    Wildcards do not match a leading "_", as they do not match a leading ".".
    """
    files: dict[Path, None] = {}
    base, wants_all = _base_folder(Path(pattern)), any(part.startswith("_") for part in Path(pattern).parts)
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207  # accepts absolute patterns
        path = Path(match)
        if not wants_all and any(part.startswith("_") for part in path.parts[len(base.parts) :]):
            continue
        found = _files_below(path) if path.is_dir() and "**" not in pattern else [path]
        found = [file for file in found if not _is_superseded_list(file)]
        files |= dict.fromkeys(file for file in found if file.is_file() and format_of(file))
    return list(files)


def _base_folder(pattern: Path) -> Path:
    """Return the folder before the first wildcard."""
    fixed = []
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def _is_inside(path: Path, out: Path | None) -> bool:
    return out is not None and path.resolve().is_relative_to(out.resolve())


def _is_superseded_list(path: Path) -> bool:
    return path.name == SUPERSEDED_FILE and (path.parent / WORK_FOLDER).is_dir()


def _check_utf8(paths: list[Path]) -> None:
    """Raise DedupError for names that Arrow cannot open, since they are not UTF-8."""
    for path in paths:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            raise DedupError(f"{shown}: the name is not UTF-8; it needs another one") from None


def _check_distinct(paths: list[Path]) -> None:
    for path, count in Counter(paths).items():
        if count > 1:
            raise DedupError(f"{path}: the file is among the inputs twice")


def distinct_names(files: Sequence[tuple[Path, str]]) -> list[str]:
    """Return unique names for files.

    Parent folders are put before equal names, and before a name that is that of a folder of others, until all
    names differ. The files are distinct absolute paths, each with the wanted name: the end of the path.
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
