"""``dedupcrawl store`` on a server, and threads that share few connections."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.stores import open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.stores.redis.address import LAYOUTS
from tests.cli import errors
from tests.stores.factories import file, key, lmdb_url
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stores.servers import Server


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["store", *args])
    assert result.exit_code == 0, result.output
    return result.output


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    return errors.complaint(monkeypatch, capsys, "store", *args)


def pages(url: str) -> dict[str, int]:
    return {info["namespace"]: info["pages"] for info in orjson.loads(run("info", url, "--json"))}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_server_is_looked_into_and_tidied(server: Server, layout: str) -> None:
    url = f"{server.url}?layout={layout}"
    with Deduplicator(url, "news") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        dedup.add(text=CHINESE, url="https://a.example/2")
    with open_store(url, namespace="hot", scheme={}) as store:
        for n in range(BUCKET_CAP + 2):
            file(store, f"http://a/{n}", "hot", commit=n > 0, seen=time.time() - 3600)
        shown = run("info", url, "--namespace", "hot")
        for text in (layout, "34", "1 open, 0 scraped", "a page)", f"1: {key('hot').hex()} (34 filed)"):
            assert text in shown, text
    infos = {info["namespace"]: info for info in orjson.loads(run("info", url, "--json"))}
    assert (infos["news"]["pages"], infos["news"]["open"], infos["news"]["hot"]) == (2, 0, 0)
    assert infos["hot"]["layout"] == layout
    assert 50 < infos["hot"]["bytes"] / infos["hot"]["pages"] < 2000
    assert "minhash" in run("info", url, "--namespace", "news")
    assert "1 record" in run("forget", url, "https://a.example/1#top")
    assert "33 records removed" in run("prune", url, "--older-than", "30m")
    assert pages(url) == {"news": 1, "hot": 0}


def test_from_a_folder_to_a_server_and_back(server: Server, tmp_path: Path) -> None:
    folder, back, first = lmdb_url(tmp_path / "one"), lmdb_url(tmp_path / "two"), str(tmp_path / "first")
    with Deduplicator(folder, "news") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        dedup.add(text=CHINESE, url="https://a.example/2")
    assert "2 records of news exported" in run("export", folder, first)
    assert "2 records imported into news, 0 were there" in run("import", first, server.url)
    assert "0 records imported into news, 2 were there" in run("import", first, server.url)
    compact = f"{server.url}?layout=compact"
    assert "2 records imported into small" in run("import", first, compact, "--namespace", "small")
    second = str(tmp_path / "second")
    run("export", server.url, second, "--namespace", "small")
    run("import", second, back)
    with Deduplicator(back, "small") as dedup:
        assert dedup.check(text=ENGLISH, url="https://b.example/1").of == "https://a.example/1"
    with open_existing(folder, "news") as one, open_existing(back, "small") as two:
        assert [hit.record for hit in one.records()] == [hit.record for hit in two.records()]


def test_what_cannot_be_moved_is_reported(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "file")
    assert "is empty: nothing was ever filed there" in complaint(monkeypatch, capsys, "export", server.url, path)
    for name in ("news", "blogs"):
        with open_store(server.url, namespace=name, scheme={"exact": {}, "minhash": {}}) as store:
            file(store, "http://a", "story")
    assert "one of 'blogs', 'news'" in complaint(monkeypatch, capsys, "export", server.url, path)
    run("export", server.url, path, "--namespace", "news")
    assert "outlives this command" in complaint(monkeypatch, capsys, "import", path, "memory://")
    with open_store(server.url, namespace="other", scheme={"minhash": {}}):
        pass
    said = complaint(monkeypatch, capsys, "import", path, server.url, "--namespace", "other")
    assert "was filled under another configuration" in said
    assert "absent" in complaint(monkeypatch, capsys, "import", str(tmp_path / "absent"), server.url)


def test_no_password_is_shown(
    own: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"127.0.0.1:{own(password='right').port}/0"
    for command in (("info",), ("prune", "--older-than", "1d"), ("export", str(tmp_path / "file"))):
        name, *rest = command
        said = complaint(monkeypatch, capsys, name, f"redis://:hunter2@{place}", *rest)
        assert "redis://:***@127.0.0.1" in said
        assert "hunter2" not in said
    with Deduplicator(f"redis://:right@{place}", "news") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
    shown = run("info", f"redis://:right@{place}")
    assert "redis://:***@127.0.0.1" in shown
    assert "right" not in shown


@pytest.mark.parametrize("most", [1, 3])
def test_threads_share_few_connections(server: Server, most: int) -> None:
    url = f"{server.url}?max_connections={most}&client_name=few{most}"
    with open_store(url, namespace=f"few{most}", scheme={}) as store, ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: file(store, f"http://a/{n}", f"story{n}"), range(100)))
        assert store.info().pages == 100
        with server.client() as client:
            ours = [each for each in client.client_list() if each["name"] == f"few{most}"]
        assert 1 <= len(ours) <= most
