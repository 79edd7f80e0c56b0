"""Whether what Spark needs is there; this module itself needs nothing."""

from __future__ import annotations

from importlib.util import find_spec

from dedupcrawl.errors import DedupError


def check_installed() -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if a package of the extra is missing."""
    for name in ("pyspark", "pandas", "pyarrow"):
        if find_spec(name) is None:
            raise DedupError(f"Spark needs {name}: pip install 'dedupcrawl[spark]'")
