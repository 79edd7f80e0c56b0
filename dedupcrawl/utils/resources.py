"""Files that are written as a whole: other processes see the old content or the new, never a part.

Context managers that close themselves.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


UNFINISHED = ".unfinished-"  #: before the name of a file that is being written; formats look at its end


@contextmanager
def atomic_write(path: Path, *, concurrent: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file beside ``path``, which replaces ``path`` at the end of the block.

    The data is on the disk before the file is renamed. After an error the temporary file is removed.

    Args:
        path: the file to write; its folder exists.
        concurrent: whether several processes may write ``path`` at once; the temporary file of each has its
            own name then. Otherwise a file that a killed process left behind is overwritten.

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
    """Do the same as :func:`replacing`, and create the folder of ``path`` where it is missing.

    Raises:
        DedupError: the file or its folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            yield part
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error.strerror or error}") from error


class Closing(ABC):
    """A context manager whose end calls :meth:`close`."""

    @abstractmethod
    def close(self) -> None:
        """Release what the object holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
