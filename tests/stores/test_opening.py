"""What opening a store imports and checks: a crawl without a server does not import redis-py."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.errors import StoreMismatchError
from dedupcrawl.stores.base import check_scheme, scheme_json
from tests.stores.factories import lmdb_url

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
from dedupcrawl.errors import MissingPackageError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
url = "redis://:hunter2@127.0.0.1/0"
for ask in (
    lambda: open_store(url, namespace="news", scheme={}),
    lambda: open_existing(url, "news"),
    lambda: list_namespaces(url),
):
    try:
        ask()
    except MissingPackageError as error:
        print(error)
"""


def test_a_missing_client_is_reported_in_one_sentence() -> None:
    said = ran(WITHOUT).splitlines()
    package = "needs the package redis: pip install 'dedupcrawl[redis]'"
    assert said == [f"The store redis://:***@127.0.0.1/0 {package}"] * 3


def ran(code: str, *arguments: str) -> str:
    """Return the output of a new interpreter."""
    run = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(there: dict[str, object], here: dict[str, object]) -> str:
    with pytest.raises(StoreMismatchError) as caught:
        check_scheme("lmdb://x", "news", scheme_json(there), scheme_json(here))
    return str(caught.value)


def test_the_order_of_constants_does_not_matter() -> None:
    one, other = {"a": {"x": 1, "y": [2]}, "b": 3}, {"b": 3, "a": {"y": [2], "x": 1}}
    assert scheme_json(one) == scheme_json(other)
    check_scheme("lmdb://x", "news", scheme_json(one), scheme_json(other))


def test_the_sentence_names_store_namespace_difference_and_remedy() -> None:
    assert refusal({"minhash": {"slots": 64, "bits": 8}}, {"minhash": {"slots": 128, "bits": 8}}) == (
        "The store lmdb://x (namespace 'news') was filled under another configuration: "
        "DEDUP_DETECTORS (minhash.slots is 64 there, 128 here). "
        "Use the former settings, or another namespace, or start over with DEDUP_RESET."
    )


def test_every_difference_is_named() -> None:
    text = refusal({"seed": 0, "exact": {}}, {"seed": 1, "minhash": {"bands": [9, 13]}})
    assert "exact is {} there, nothing here; " in text
    assert 'minhash is nothing there, {"bands": [9, 13]} here; ' in text
    assert "seed is 0 there, 1 here)." in text
