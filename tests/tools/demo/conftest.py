from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.tools.demo import crawl as demo_crawl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@pytest.fixture(scope="module")
def forked_scrapy(commands: Path) -> Iterator[None]:
    """The crawls of demos are forks of the command server."""

    def start(command: Sequence[str], **arguments: Any) -> subprocess.Popen[bytes]:
        program, module, *words = command
        assert (program, module, words[0]) == (sys.executable, "-m", "scrapy")
        return subprocess.Popen([commands / "scrapy", *words[1:]], **arguments)

    with pytest.MonkeyPatch.context() as patch:
        loaded = SimpleNamespace(Popen=start, TimeoutExpired=subprocess.TimeoutExpired)
        patch.setattr(demo_crawl, "subprocess", loaded)
        yield
