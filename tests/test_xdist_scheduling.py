from __future__ import annotations

from tests.xdist_scheduling import rank, share_of

SPARK, BATCH = "tests/batch/spark/test_dataframe.py::test_a", "tests/batch/test_runner.py::test_a"
CRAWL, OTHER = "tests/crawl/test_crawl.py::test_a[x::y]", "dedupcrawl/config.py::dedupcrawl.config.Config"


def test_a_worker_gets_a_file_or_all_of_spark_or_all_that_opens_pages() -> None:
    assert share_of(CRAWL) == share_of("tests/crawl/test_crawl.py::test_b") == "tests/crawl/test_crawl.py"
    assert share_of(SPARK) == share_of("tests/batch/spark/test_cluster.py::test_b")
    docs = "tests/docs/test_blocks.py"
    assert share_of(f"{docs}::test_a[docs/a-b.md:7]") == share_of(f"{docs}::test_a[docs/a-b.md:30]")
    assert share_of(f"{docs}::test_a[docs/a-b.md:7]") != share_of(f"{docs}::test_a[docs/b.md:7]")
    assert share_of(f"{docs}::test_b") == docs
    site, report = "tests/docs/test_site.py::test_a", "tests/tools/report/test_html_report.py::test_a"
    assert share_of(site) == share_of(report)
    assert len({*map(share_of, (SPARK, BATCH, CRAWL, OTHER, site))}) == 5


def test_what_takes_long_comes_first() -> None:
    site = "tests/docs/test_site.py::test_a"
    assert sorted([OTHER, BATCH, CRAWL, SPARK, site], key=rank) == [site, SPARK, CRAWL, BATCH, OTHER]
