"""The arithmetic of the benchmark of crawls, and its sites."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.crawl import SITES, costs, main, options
from benchmarks.crawl_sites import GENERATED, PART, REAL, product, thread
from dedupcrawl import Deduplicator

if TYPE_CHECKING:
    from pathlib import Path


def test_what_each_way_costs_is_the_median_of_its_turns() -> None:
    rounds = [
        {"off": [1.0, 2.0], "frozen": [0.75, 1.75], "on": [1.5, 2.5], "unfrozen": [2.0, 3.0]},
        {"off": [1.0, 2.0], "frozen": [0.75, 1.75], "on": [1.5, 2.5], "unfrozen": [2.0, 3.0]},
    ]
    found = costs(rounds, 2 * PART)
    assert found["ms_per_page"] == {"off": 6.0, "frozen": 5.0, "on": 8.0, "unfrozen": 10.0}
    assert found["ms"] == {"added": 2.0, "own work": 3.0, "own work, nothing frozen": 4.0, "freeze": -1.0}


def test_the_last_part_may_have_fewer_pages() -> None:
    assert costs([{"off": [1.0, 0.1]}], PART + 25)["ms_per_page"] == {"off": 4.0}


def test_all_products_of_the_catalogue_are_different_pages_of_one_template() -> None:
    with Deduplicator() as dedup:
        verdicts = [dedup.add(html=product(n), url=f"https://shop.example/{n}") for n in range(6)]
    assert all(verdict.keep for verdict in verdicts)
    assert [str(verdict.relation) for verdict in verdicts[1:]] == ["sibling"] * 5


def test_threads_of_the_forum_are_read_and_different() -> None:
    with Deduplicator() as dedup:
        verdicts = [dedup.add(html=thread(n), url=f"https://forum.example/{n}") for n in range(6)]
    assert [str(verdict.status) for verdict in verdicts] == ["unique"] * 6


@pytest.mark.parametrize("site", GENERATED)
def test_generated_pages_are_the_same_in_each_run(site: str) -> None:
    assert GENERATED[site](7) == GENERATED[site](7) != GENERATED[site](8)


@pytest.mark.parametrize("site", SITES)
def test_a_site_has_options_of_its_own(site: str) -> None:
    asked = options(["--site", site])
    assert (asked.count, asked.spiders, asked.modes) == (SITES[site].count, SITES[site].spiders, SITES[site].modes)
    assert asked.modes[0] == "off"


def test_a_missing_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["crawl", "--site", REAL, "--folder", str(tmp_path)])
    assert main() == 0
    assert str(tmp_path) in capsys.readouterr().out
