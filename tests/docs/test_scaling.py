"""The arithmetic of the plan for clusters."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from benchmarks.scaling import MOST, PLANNED, SIZES, Assumptions, Measured, Shape, filled, plan, records
from dedupcrawl.stores.redis.sharded.layout import TAGS, ShardLayout
from docs.making import measured

PAGE = Measured(memory=600, snapshot=400, new_us=100, duplicate_us=50, new_bytes=2000, duplicate_bytes=1000)
GIVEN = Assumptions(days=10, duplicates=0.5, peak=2, memory_gb=100, memory_share=0.5, core_share=0.5, lag_s=2)


def test_the_stored_plan_follows_from_the_stored_measurement() -> None:
    found = measured.results()["scaling"]["figures"]
    given = Assumptions(**found["assumptions"])
    assert [each["pages"] for each in found["plans"]] == list(PLANNED)
    for each in found["plans"]:
        for name, value in asdict(plan(each["pages"], Measured(**found["page"]), given)).items():
            assert each[name] == (pytest.approx(value, rel=2e-3) if isinstance(value, float) else value), name


def test_a_plan_by_hand() -> None:
    """8.64 million pages in ten days with as many copies: 20 fetched a second, 40 at the peak."""
    small = plan(8_640_000, PAGE, GIVEN)
    assert (small.servers, small.bound_by) == (1, "one server")
    assert small.pages_per_second == pytest.approx(40)
    assert small.cores == pytest.approx((20 * 100 + 20 * 50) / 1e6)
    assert small.network_mbit == pytest.approx(20 * 3000 * 8 / 1e6)
    assert small.memory_gb == pytest.approx(5.184)
    assert small.lost == 40
    assert small.disk_gb == pytest.approx(2 * 3.456)
    assert small.batch_core_hours == pytest.approx(17_280_000 * 130e-6 / 3600)


@pytest.mark.parametrize(
    ("pages", "page", "servers", "bound_by"),
    [
        (100_000_000, PAGE, 6, "failover"),  # 60 GB in servers that take 50
        (1_000_000_000, PAGE, 24, "memory"),  # 600 GB
        (100_000_000, replace(PAGE, new_us=10_000), 10, "processor"),  # 231 new pages a second: 2.3 cores, half used
    ],
)
def test_what_determines_the_number_of_servers(pages: int, page: Measured, servers: int, bound_by: str) -> None:
    found = plan(pages, page, GIVEN)
    assert (found.servers, found.bound_by) == (servers, bound_by)


@pytest.mark.parametrize("pages", [*SIZES, *PLANNED])
def test_tags_are_filled_as_in_a_namespace_of_that_size(pages: int) -> None:
    tags, number = filled(pages)
    assert number / tags == pytest.approx(pages / TAGS, rel=0.01)
    assert number <= MOST or tags == 1


def test_all_keys_of_a_synthetic_record_are_under_the_first_tags() -> None:
    [one, other] = records(Shape(128, 93, 40), 3, range(2))
    assert len(set(one.keys)) == 8
    assert {ShardLayout.tag_of(key) for key in (*one.keys, *other.keys)} <= {0, 1, 2}
    assert [len(sketch) for sketch in one.sketches] == [16, 137]
    assert (len(one.url), len(one.identity)) == (93, 40)
    assert one.keys != other.keys
