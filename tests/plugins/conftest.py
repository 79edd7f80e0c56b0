"""A site and a way to crawl it, as the tests of crawls have them."""

from __future__ import annotations

from tests.crawl.conftest import run, server, site

__all__ = ["run", "server", "site"]
