"""Fixtures for the blocks of the documentation: newspapers, a server, the commands, one runner for each page."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from tests.docs.blocks import blocks_of, is_run
from tests.docs.newspapers import PAGES, printed
from tests.docs.page_folders import EMPTY, write_files
from tests.docs.page_runner import PageRunner
from tests.stores.servers import Server, started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    PageRunners = Callable[[Path], PageRunner]

#: Names that blocks of Python use without defining them.
NAMES = {"body": PAGES["a.example/1"], "url": "https://a.example/1", "save": print}
REDIS = "redis://redis.example/0"  #: the server in the documentation


@pytest.fixture(scope="session")
def papers() -> Iterator[Mapping[str, str]]:
    with printed() as origins:
        yield origins


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with started() as server:
        yield server


@pytest.fixture(scope="session")
def page_runners(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, papers: Mapping[str, str], commands: Path
) -> Iterator[PageRunners]:
    """Return a function that returns the runner of a page, always the same one."""
    known: dict[Path, PageRunner] = {}
    databases = count()

    def of(page: Path) -> PageRunner:
        if page not in known:
            folder = tmp_path_factory.mktemp(page.stem, numbered=False)
            swaps = [(f"https://{host}", origin) for host, origin in papers.items()]
            swaps.append(("/var/lib/crawls", f"{folder}/crawls"))
            if REDIS in page.read_text("utf-8"):
                port = request.getfixturevalue("server").port
                swaps.append((REDIS, f"redis://127.0.0.1:{port}/{next(databases)}"))
            blocks = [each for each in blocks_of(page) if is_run(each)]
            known[page] = PageRunner(folder, blocks, swaps, dict(NAMES), commands)
            _fill(known[page])
            if page.name not in EMPTY:
                write_files(folder, known[page].here)
        return known[page]

    try:
        yield of
    finally:
        for each in known.values():
            each.end()


def _fill(reader: PageRunner) -> None:
    """Fill the server with the newspapers, if the page has one."""
    url = dict(reader.swaps).get(REDIS)
    if url is not None:
        with Deduplicator(url, "news") as dedup:
            for at, html in PAGES.items():
                dedup.add(html=html, url=reader.here(f"https://{at}"))
