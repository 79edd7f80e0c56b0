"""Foreseeing duplicates: which URLs lead to pages that the crawl has stored already."""
