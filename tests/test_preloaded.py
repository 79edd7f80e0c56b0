from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor

from tests.forking import processes


def modules() -> set[str]:
    return {*sys.modules}


def test_processes_begin_with_everything_imported_and_no_reactor() -> None:
    with ProcessPoolExecutor(1, mp_context=processes()) as pool:
        there = pool.submit(modules).result()
    assert {"dedupcrawl.crawl.pipeline", "scrapy.core.downloader.handlers.http11"} <= there
    assert "twisted.internet.reactor" not in there
