"""A bundled web of five sites that reprint each other, and a crawl of it whose verdicts are checked.

The articles were written for the demo. ``web/pages.jsonl`` gives the cluster (the content) of every page and
the edits made to it, so each verdict is known to be right or wrong.
"""
