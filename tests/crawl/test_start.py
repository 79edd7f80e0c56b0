"""An error at the start ends the crawl before its first request, with one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import REACTORS, start
from tests.crawl.site import plain, text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.site import Site


def failing(folder: Path, site: Site, settings: dict[str, Any], reactor: str = "asyncio") -> list[str]:
    """Run a crawl that must not begin; return the lines of its output that name us."""
    url = site.put("/a", plain("Ice", text(1)))
    running = start(folder, ("Reader", {"urls": [url]}), settings=settings, reactor=reactor)
    assert running.wait() == 1, running.output
    output = running.output
    assert site.asked == []
    if reactor != "epoll":  # Twisted reports what a Deferred ends with itself
        assert "Traceback" not in output, output
    return [line for line in output.splitlines() if "dedupcrawl: " in line and "ERROR" in line]


@pytest.mark.parametrize("reactor", REACTORS)
def test_a_bad_setting(site: Site, tmp_path: Path, reactor: str) -> None:
    (line,) = failing(tmp_path, site, {"DEDUP_THRESHOLD": "high"}, reactor)
    assert line.endswith("DEDUP_THRESHOLD = 'high' is not accepted: a number above 0, at most 1")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"DEDUP_ENABLED": "perhaps"}, "DEDUP_ENABLED = 'perhaps'"),
        ({"DEDUP_DETECTORS": "simhush"}, "DEDUP_DETECTORS = 'simhush'"),
        ({"DEDUP_DETECTORS": {"minhash": {"slots": 3}}}, "DEDUP_DETECTORS['minhash'].slots = 3"),
        ({"DEDUP_STORE": "ftp://x"}, "DEDUP_STORE = 'ftp://x'"),
        ({"DEDUP_COMMIT": "feed_slot_closed", "FEEDS": {"gopher://x": {"format": "json"}}}, "DEDUP_COMMIT"),
        ({"FEEDS": {"gopher://x": {"format": "json"}}}, "DEDUP_COMMIT = 'auto'"),
    ],
)
def test_other_settings(site: Site, tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    (line,) = failing(tmp_path, site, settings)
    assert says in line


def test_a_store_of_another_configuration(site: Site, tmp_path: Path) -> None:
    store = f"lmdb://{tmp_path}/store"
    Deduplicator(store, "reader", seed=1).close()
    (line,) = failing(tmp_path, site, {"DEDUP_STORE": store})
    assert "filled under another configuration" in line
    assert "DEDUP_SEED (exact.seed is 1 there, 0 here; minhash.seed is 1 there, 0 here)." in line
    assert "start over with DEDUP_RESET" in line


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"DEDUP_THRESHOLD": 0.7}, "DEDUP_THRESHOLD or DEDUP_DETECTORS (minhash.bands is 6 there, 8 here; "),
        ({"DEDUP_READER": "text"}, 'DEDUP_READER (text.reader is nothing there, "text" here)'),
        ({"DEDUP_FOLD_CHINESE": True}, "DEDUP_FOLD_CHINESE (text.fold_chinese is nothing there, "),
        ({"DEDUP_DETECTORS": {"minhash": {"slots": 256}}}, "DEDUP_DETECTORS (exact is {"),
    ],
)
def test_what_shapes_fingerprints_is_refused_by_the_name_of_its_setting(
    site: Site, tmp_path: Path, settings: dict[str, Any], named: str
) -> None:
    store = f"lmdb://{tmp_path}/store"
    Deduplicator(store, "reader").close()
    (line,) = failing(tmp_path, site, {"DEDUP_STORE": store, **settings})
    assert f"was filled under another configuration: {named}" in line
    assert line.endswith("Use the former settings, or another namespace, or start over with DEDUP_RESET.")


def test_a_corrupt_store(site: Site, tmp_path: Path) -> None:
    Deduplicator(f"lmdb://{tmp_path}/store", "reader").close()
    for path in (tmp_path / "store").rglob("*.mdb"):
        path.write_bytes(b"this is no database" * 5000)
    (line,) = failing(tmp_path, site, {"DEDUP_STORE": f"lmdb://{tmp_path}/store"})
    assert f"{tmp_path}/store" in line


def test_a_folder_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (line,) = failing(tmp_path, site, {"DEDUP_STORE": f"lmdb://{tmp_path}/file/store"})
    assert f"{tmp_path}/file/store" in line
