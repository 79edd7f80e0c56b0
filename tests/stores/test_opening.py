"""What is loaded for a store: a crawl without a server starts without the client of one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.stores.making import lmdb_url

if TYPE_CHECKING:
    from pathlib import Path

USE = """
import sys
from dedupcrawl import Deduplicator
from dedupcrawl.crawl import pipeline, settings
from dedupcrawl.stores import open_existing
text = "The harbour froze over in the night, and the ferries stayed at their piers. " * 9
for url in ("memory://", sys.argv[1]):
    with Deduplicator(url, detectors=["exact"]) as dedup:
        assert dedup.add(text=text, url="https://a.example/1").keep
        assert dedup.add(text=text, url="https://a.example/2").of == "https://a.example/1"
with open_existing(sys.argv[1], "default") as store:
    assert store.info().pages == 1
print(sorted(name for name in sys.modules if name.partition(".")[0] == "redis"))
"""


def test_stores_on_this_machine_do_not_load_the_client_of_a_server(tmp_path: Path) -> None:
    assert ran(USE, lmdb_url(tmp_path / "store")).strip() == "[]"


WITHOUT = """
import sys
sys.modules["redis"] = None
from dedupcrawl.errors import StoreError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
url = "redis://:hunter2@127.0.0.1/0"
for ask in (
    lambda: open_store(url, namespace="news", scheme={}),
    lambda: open_existing(url, "news"),
    lambda: list_namespaces(url),
):
    try:
        ask()
    except StoreError as error:
        print(error)
"""


def test_a_missing_client_is_told_in_one_sentence() -> None:
    said = ran(WITHOUT).splitlines()
    package = "needs the package redis, version 6 or newer: pip install redis."
    assert said == [f"The store redis://:***@127.0.0.1/0 {package}"] * 3


def ran(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints."""
    run = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
