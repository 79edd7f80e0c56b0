"""Batch deduplication on Spark: the same fingerprints and verdicts, computed in tasks."""
