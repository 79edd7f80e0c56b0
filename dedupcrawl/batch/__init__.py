"""Batch deduplication of corpora on disk and of Spark DataFrames, with the detectors and rules of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedupcrawl.batch.spark.dataframe import deduplicate

__all__ = ["deduplicate"]


def __getattr__(name: str) -> Any:
    """Import ``deduplicate`` on first use: it needs Spark, an optional dependency."""
    if name == "deduplicate":
        from dedupcrawl.batch.spark import check_installed  # noqa: PLC0415

        check_installed()
        from dedupcrawl.batch.spark.dataframe import deduplicate  # noqa: PLC0415

        return deduplicate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
