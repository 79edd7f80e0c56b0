"""The documents of a corpus: feeds, text files, pages, or folders of them."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.errors import DedupError
from dedupcrawl.page import Page, PageError, ReadOptions, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINES = (".jsonl", ".jl", ".ndjson")
_TYPES = {".txt": "text/plain", ".html": "text/html", ".htm": "text/html"}
_ACCEPTED = f"files that end in {', '.join((*_LINES, *_TYPES))}, packed (.gz) or not, or folders of them"
_READING = ReadOptions(blocks=False)


@dataclass
class Corpus:
    """Documents in the order of their files; each is read when it is asked for.

    The fields of a line of JSON are joined; ``html`` is read as a page. Without ``fields`` a line's ``html``
    counts, else its ``text``.
    """

    where: Sequence[str]
    fields: Sequence[str] = ()
    unreadable: int = field(default=0, init=False)  #: documents without any text, and pages that are binary

    def __iter__(self) -> Iterator[Page]:
        for path in self._files():
            for page in self._pages(path):
                if page is not None and (page.text or page.rest):
                    yield page
                else:
                    self.unreadable += 1

    def _files(self) -> list[Path]:
        """List the files before the first is read: a wrong name is told at once."""
        return [path for where in self.where for path in _found(where)]

    def _pages(self, path: Path) -> Iterator[Page | None]:
        kind = _suffix(path)
        try:
            if kind in _LINES:
                yield from self._lines(path)
            else:
                yield _read(_unpacked(path), _TYPES[kind])
        except (OSError, EOFError, zlib.error) as error:
            raise DedupError(f"{path}: cannot be read: {error}") from error

    def _lines(self, path: Path) -> Iterator[Page | None]:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield self._page(_object(line, f"{path}, line {number}"), f"{path}, line {number}")

    def _page(self, item: dict[str, Any], place: str) -> Page | None:
        names = self.fields or [name for name in ("html", "text") if item.get(name) is not None][:1]
        values = [(name, item.get(name)) for name in names]
        if not values or all(value is None for _, value in values):
            wanted = " or ".join(self.fields or ("html", "text"))
            raise DedupError(f"{place}: no field {wanted}; it has {', '.join(item) or 'none'} (see --field)")
        texts = [_text(name, value) for name, value in values if value is not None]
        return None if None in texts else Page.from_text("\n".join(filter(None, texts)))


def _found(where: str) -> list[Path]:
    path = Path(where)
    if not path.exists():
        raise DedupError(f"{where}: no such file or folder")
    if path.is_dir():
        found = sorted(
            file for file in path.rglob("*") if file.is_file() and _suffix(file) in (*_LINES, *_TYPES)
        )
    else:
        found = [path] if path.is_file() and _suffix(path) in (*_LINES, *_TYPES) else []
    if not found:
        raise DedupError(f"{where}: no document; accepted are {_ACCEPTED}")
    return found


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _unpacked(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def _object(line: bytes, place: str) -> dict[str, Any]:
    try:
        item = orjson.loads(line)
    except ValueError as error:
        raise DedupError(f"{place}: no JSON: {error}") from error
    if not isinstance(item, dict):
        raise DedupError(f"{place}: a line is a JSON object, not {type(item).__name__}")
    return item


def _text(name: str, value: object) -> str | None:
    """Return the text of a field; lists of texts are joined. None: a page that cannot be read."""
    if name == "html" and isinstance(value, str):
        page = _read(value, "text/html")
        return None if page is None else "\n".join(filter(None, (page.text, page.rest)))
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(body: bytes | str, content_type: str) -> Page | None:
    try:
        return read_page(body, "", content_type=content_type, options=_READING)
    except PageError:
        return None
