"""A small bundled web of five sites that reprint each other, and a crawl of it that is checked.

Every article was written for it. ``web/pages.jsonl`` says of every page which content it bears (its
cluster) and what was done to it, so that each verdict can be told right or wrong.
"""
