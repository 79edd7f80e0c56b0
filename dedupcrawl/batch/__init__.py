"""Corpora that are there already, deduplicated by the rules of the crawl."""
