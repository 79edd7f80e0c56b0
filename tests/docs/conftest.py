"""What the pages of the documentation are tried on."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from tests.docs.blocks import blocks_of, is_followed
from tests.docs.following import Follower
from tests.docs.newspapers import HOSTS, PAGES, printed
from tests.docs.warm import ready
from tests.docs.worlds import EMPTY, furnish
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Followers = Callable[[Path], Follower]

#: What stands in a block of Python for something of the reader's own.
NAMES = {"body": PAGES["a.example/1"], "url": "https://a.example/1", "save": print}
REDIS = "redis://redis.example/0"  #: what the documentation calls a server


@pytest.fixture(scope="session")
def papers() -> Iterator[str]:
    with printed() as origin:
        yield origin


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server(next(iter(binaries().values()))).start()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def warm() -> Iterator[Path]:
    with TemporaryDirectory(prefix="warm-") as folder, ready(Path(folder)) as commands:
        yield commands


@pytest.fixture(scope="session")
def followers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, papers: str, warm: Path
) -> Iterator[Followers]:
    """Give the one that follows a page, who remembers what was done already."""
    known: dict[Path, Follower] = {}
    databases = count()

    def of(page: Path) -> Follower:
        if page not in known:
            folder = tmp_path_factory.mktemp(page.stem, numbered=False)
            swaps = [(f"https://{host}", f"{papers}/{host}") for host in HOSTS]
            swaps.append(("/var/lib/crawls", f"{folder}/crawls"))
            if REDIS in page.read_text("utf-8"):
                port = request.getfixturevalue("server").port
                swaps.append((REDIS, f"redis://127.0.0.1:{port}/{next(databases)}"))
            blocks = [each for each in blocks_of(page) if is_followed(each)]
            known[page] = Follower(folder, blocks, swaps, dict(NAMES), warm)
            _fill(known[page])
            if page.name not in EMPTY:
                furnish(folder, known[page].here)
        return known[page]

    try:
        yield of
    finally:
        for each in known.values():
            each.end()


def _fill(reader: Follower) -> None:
    """Let a crawl of the newspapers have filled the server, if the page has one."""
    url = dict(reader.swaps).get(REDIS)
    if url is not None:
        with Deduplicator(url, "news") as dedup:
            for at, html in PAGES.items():
                dedup.add(html=html, url=reader.here(f"https://{at}"))
