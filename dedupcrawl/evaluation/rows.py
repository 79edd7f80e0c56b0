"""Labelled pages: JSON Lines with ``id, url, html | text, cluster`` and, where it is known, ``edit``."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import orjson

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled page; pages of the same cluster are duplicates of each other."""

    id: str
    url: str
    cluster: str
    html: str | None
    text: str | None
    edit: str


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a ``.jsonl`` or ``.jsonl.gz`` file.

    Raises:
        DedupError: the file or a line of it cannot be read; the message names the line.
    """
    number, found = 0, False
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 - the messages below name it
                if line.strip():
                    found = True
                    yield _row(orjson.loads(line))
    except (OSError, EOFError, zlib.error) as error:
        raise DedupError(f"{path}: cannot be read after line {number}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise DedupError(f"{path}, line {number}: not a row of a duplicates file: {error}") from error
    if not found:
        raise DedupError(f"{path} holds no page")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    packed = path.suffix == ".gz"
    with cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb") as file:
        yield file


def _row(fields: object) -> Row:
    if not isinstance(fields, dict):
        raise TypeError("a row is a JSON object with id, url, html or text, and cluster")
    missing = [name for name in ("id", "url", "cluster") if fields.get(name) is None]
    html, text = fields.get("html"), fields.get("text")
    if html is None and text is None:
        missing.append("html or text")
    if missing:
        raise KeyError(f"{', '.join(missing)} missing")
    if not all(isinstance(content, str | None) for content in (html, text)):
        raise TypeError("html and text are strings")
    return Row(
        id=str(fields["id"]),
        url=str(fields["url"]),
        cluster=str(fields["cluster"]),
        html=html,
        text=text,
        edit=str(fields.get("edit", "")),
    )
