"""Names for outputs: short, and another one for each file."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def tell_apart(files: Sequence[tuple[Path, str]]) -> list[str]:
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
            _longer(path, name) if counts[name] > 1 or name in folders else name
            for (path, _), name in zip(files, names, strict=True)
        ]
        if longer == names:
            return names
        names = longer


def _longer(path: Path, name: str) -> str:
    parts = [part for part in path.parts if part != path.anchor]
    return "/".join(parts[-(name.count("/") + 2) :])
