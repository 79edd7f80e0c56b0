"""The version of this package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def our_version() -> str:
    """Return the version of this package, "" where it was not installed."""
    try:
        return version("dedupcrawl")
    except PackageNotFoundError:
        return ""
