"""Pairs of pages that a person says to be the same content or not: drawn from a run, shown, written down."""
