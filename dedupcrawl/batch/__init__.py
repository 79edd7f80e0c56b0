"""Corpora that are there already, deduplicated by the rules of the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedupcrawl.batch.spark.dataframe import deduplicate

__all__ = ["deduplicate"]


def __getattr__(name: str) -> Any:
    """Load what needs Spark when it is asked for."""
    if name == "deduplicate":
        from dedupcrawl.batch.spark.requirements import check_installed  # noqa: PLC0415

        check_installed()
        from dedupcrawl.batch.spark.dataframe import deduplicate  # noqa: PLC0415

        return deduplicate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
