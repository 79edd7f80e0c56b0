"""A batch over the pages of all sites gives each page the verdict of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.config import DROP, Config
from dedupcrawl.detectors.base import Relation
from tests.batch.corpus import Batch, annotated_verdicts, crawled, lines, split, verdict_tuples
from tests.sites.kinds import KINDS, build

if TYPE_CHECKING:
    from pathlib import Path


def rows_of(seed: int) -> list[dict[str, Any]]:
    """Return the pages of all sites; they share no host."""
    return [{"url": page.url, "html": page.html} for kind in KINDS for page in build(kind, seed).pages]


@pytest.mark.parametrize(
    ("seed", "config"),
    [
        (1, Config(site_memory=False)),  # with it, a batch knows the sites before it compares
        (1, Config(scope="other-hosts", site_memory=False)),
        (0, Config(drop=DROP | {Relation.SIBLING, Relation.REFRESHED}, site_memory=False)),
    ],
    ids=["1", "other hosts", "siblings dropped"],
)
def test_the_verdicts_are_those_of_a_crawl(tmp_path: Path, seed: int, config: Config) -> None:
    rows = rows_of(seed)
    batch = Batch(tmp_path, config)
    batch.run(split(rows, tmp_path / "in"), annotate=True)
    told = [row for path in sorted((tmp_path / "out").glob("*.jsonl")) for row in lines(path)]
    verdicts = crawled(config, rows)
    assert annotated_verdicts(told) == verdict_tuples(verdicts)
    siblings = [verdict for verdict in verdicts if verdict.relation is Relation.SIBLING]
    assert bool(siblings) == (config.scope == "all")
    assert all(verdict.keep == (Relation.SIBLING not in config.drop) for verdict in siblings)


def test_a_batch_tells_siblings_and_refreshed_pages(tmp_path: Path) -> None:
    from tests.test_decision import html
    from tests.texts import ENGLISH

    rows = [
        {"url": "https://a.example/1", "html": html("Carpenter", ENGLISH + " Comments (12) were left.")},
        {"url": "https://a.example/2", "html": html("Plumber", ENGLISH + " Comments (12) were left.")},
        {"url": "https://a.example/1", "html": html("Carpenter", ENGLISH + " Comments (13) were left.")},
    ]
    for keep, kept in (("first", [1, 2, 1]), ("latest", [2, 1])):
        batch = Batch(tmp_path / keep, Config(keep=keep))
        summary = batch.run(split(rows, batch.folder / "in", 1))
        assert [int(url[-1]) for url in batch.kept()] == kept, summary
