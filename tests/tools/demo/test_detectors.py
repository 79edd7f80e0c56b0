"""Detectors crawl the bundled web, selected by settings alone.

``tests/detectors/test_every_store.py`` judges its pages by every detector.
"""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.demo import crawl as demo_crawl
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.crawl import run_demo
from dedupcrawl.tools.demo.sites import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Journal = list[dict[str, Any]]

CONTENT = load_content()
#: By a name, with constants, and in one another; with a package, a lexicon and a segmenter that a crawl loads for them.
CHOICES = {
    "datasketch": "datasketch",
    "imatch_randomized": "imatch_randomized",
    "keywords 1": '{"keywords": {"variant": 1}}',
    "any of two": '{"combined": {"any_of": ["exact", "simhash"]}}',
}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory, forked_scrapy: None) -> Iterator[dict[str, Future[Journal]]]:
    """Crawl once for each choice, two at a time, with a web and a Scrapy that are made once for all."""
    base = tmp_path_factory.mktemp("demos")
    with pytest.MonkeyPatch.context() as patch, serve(CONTENT, 0) as origins, ThreadPoolExecutor(2) as pool:
        patch.setattr(demo_crawl, "serve", lambda *_: nullcontext(origins))
        yield {name: pool.submit(crawl, base / name, chosen) for name, chosen in CHOICES.items()}
        pool.shutdown(cancel_futures=True)


def crawl(out: Path, detectors: str) -> Journal:
    run_demo(out, settings=[f"DEDUP_DETECTORS={detectors}"], first_port=0)
    return [json.loads(line) for line in (out / "journal.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", CHOICES)
def test_a_detector_by_settings_alone(journals: dict[str, Future[Journal]], name: str) -> None:
    of_path = {page.path: page.cluster for page in CONTENT.pages}
    rows = [row for row in journals[name].result() if path(row["url"]) in of_path]
    dropped = [row for row in rows if not row["kept"]]

    assert len(rows) == len(CONTENT.pages)
    assert {row["verdict"]["detector"] for row in dropped} == {name.partition(" ")[0].replace("any", "combined")}
    right = sum(of_path[path(row["url"])] == of_path[path(row["verdict"]["of"])] for row in dropped)
    assert right >= 5
    assert right >= 0.5 * len(dropped)  # `eval duplicates` measures the precision of each
    assert not any(row["verdict"].get("reason") in ("error", "store") for row in rows)


def test_a_setting_that_is_wrong_ends_the_demo_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DedupError, match=r"DEDUP_DETECTORS.*'nonsense'.*minhash"):
        run_demo(tmp_path / "out", settings=["DEDUP_DETECTORS=nonsense"], first_port=0)


def path(url: str) -> str:
    return "/" + url.split("/", 3)[3]
