"""Files that are replaced atomically, objects with a ``close`` method, and objects that garbage collections skip.

Other processes see the old content of a file or the new content, never a part.
"""

from __future__ import annotations

import gc
import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


UNFINISHED = ".unfinished-"  #: prefix of temporary files; a suffix would hide the format of the file


@contextmanager
def atomic_write(path: Path, *, concurrent: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces ``path`` at the end of the block.

    The data is flushed to disk before the rename. After an error the temporary file is removed.

    Args:
        path: file to write, in an existing folder.
        concurrent: give the temporary file a random name, so that several processes can write ``path`` at
            once. Without it, the temporary file that a killed process left is overwritten.

    Raises:
        OSError: the file cannot be written.
    """
    part = path.with_name(f"{UNFINISHED}{token_hex(8) if concurrent else ''}{path.name}")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_output(path: Path) -> Iterator[Path]:
    """Write a file atomically, and create missing folders; see :func:`atomic_write`.

    Raises:
        DedupError: the file or its folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            yield part
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error.strerror or error}") from error


class ClosingContext(ABC):
    """A context manager that calls :meth:`close` at the end."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FrozenHeap:
    """Excludes the objects that exist now from garbage collections.

    Python collects garbage whenever enough objects have survived. A full collection visits all objects: those of Scrapy
    and its libraries, more than a hundred thousand, take 0.1 s. They live as long as the process in any case.
    """

    def __init__(self) -> None:
        self._is_ours = False

    def freeze(self) -> None:
        """Collect garbage, then freeze what is left; do nothing if something is frozen already."""
        if not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
            self._is_ours = True

    def unfreeze(self) -> None:
        """Undo :meth:`freeze`, so that these objects can be collected when they are unused."""
        if self._is_ours:
            self._is_ours = False
            gc.unfreeze()
