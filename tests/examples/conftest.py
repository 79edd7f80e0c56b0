"""The demo web and a real server, for all workers of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.sites import serve
from tests.examples.project import Project
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Projects = Callable[[], Project]


@pytest.fixture(scope="session")
def origins() -> Iterator[dict[str, str]]:
    with serve(load_content(), first_port=0) as served:
        yield served


@pytest.fixture
def project(tmp_path: Path, origins: dict[str, str], commands: Path) -> Iterator[Project]:
    server = Server(next(iter(binaries().values()))).start()
    project = Project(tmp_path / "project", server.url, origins, commands)
    try:
        yield project
    finally:
        project.end()
        server.remove()
