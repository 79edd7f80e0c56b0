"""Whole crawls of a real site: items kept and dropped, stats and log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupcrawl.page import compiled
from dedupcrawl.stores.redis import packed_urls
from dedupcrawl.text.features import kernel_description
from tests.crawl.running import IN_TURN, finish, on_every_reactor, start
from tests.crawl.site import fancy, index, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]


def reprints(site: Site) -> list[str]:
    """Three articles, the first of them on three sites; the list page leads to all of them."""
    urls = [
        site.put("/a/1", plain("Ice", text(1))),
        site.put("/b/1", fancy("Ice", text(1))),
        site.put("/c/1", plain("ICE!", text(1).replace("Harbour", "harbour"))),
        site.put("/a/2", plain("Lamps", text(2))),
        site.put("/b/3", fancy("Bridge", text(3))),
    ]
    return [site.put("/", index(*urls))]


def test_each_article_once(site: Site, tmp_path: Path) -> None:
    urls = reprints(site)
    for (crawled,) in on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=IN_TURN).values():
        check_once(site, crawled)


def check_once(site: Site, crawled: Crawled) -> None:
    assert sorted(item["url"].removeprefix(site.base) for item in crawled.items) == ["/a/1", "/a/2", "/b/3"]
    assert crawled.dedup["checked"] == 5
    assert crawled.dedup["kept"] == 3
    assert crawled.dedup["dropped"] == 2
    assert crawled.dedup["duplicate"] == 2
    assert sum(n for name, n in crawled.dedup.items() if name.startswith("duplicate/")) == 2
    assert crawled.dedup["bytes_saved"] > 2000
    assert all(type(n) is int for n in crawled.dedup.values())
    assert crawled.stats["item_dropped_reasons_count/DuplicatePage"] == 2


def test_the_log_names_what_each_page_duplicates(site: Site, run: Run) -> None:
    crawled = run(urls=reprints(site), settings=IN_TURN)

    dropped = crawled.lines("Dropped", "INFO")
    assert len(dropped) == 2
    for line in dropped:
        assert any(f": {how} {site.base}/a/1 (" in line for how in ("identical to", "near-duplicate of"))
    assert len(crawled.lines(f"{site.base}/a/1 (", "DEBUG")) == 2  # Scrapy's own line, with the item
    assert crawled.lines("text kernel: ", "DEBUG") == [f"dedupcrawl: text kernel: {kernel_description()}"]
    assert crawled.lines("page reading: ", "DEBUG") == [f"dedupcrawl: page reading: {compiled.description()}"]
    packing = [f"dedupcrawl: requests to servers: {packed_urls.description()}"]
    assert crawled.lines("requests to servers: ", "DEBUG") == packing
    assert crawled.lines("Pages: 5 = 3 kept + 0 kept unchecked + 2 dropped (duplicate/", "INFO")
    assert not crawled.lines("", "ERROR")
    assert not crawled.lines("", "WARNING")


def test_a_second_crawl_keeps_nothing_new(site: Site, run: Run) -> None:
    urls = reprints(site)
    first, second = run(urls=urls), run(urls=urls)

    assert len(first.items) == 3
    assert second.items == []
    assert second.dedup["duplicate/unchanged"] == 3
    assert second.dedup["dropped"] == 5


def test_the_default_store_lies_in_the_job_folder(site: Site, run: Run, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    for _ in range(2):
        run(urls=[url], settings={"JOBDIR": str(tmp_path / "job"), "DUPEFILTER_CLASS": NO_FILTER})

    assert (tmp_path / "job" / "dedup").is_dir()
    assert not (tmp_path / "work" / ".scrapy").exists()
    assert run(urls=[url]).dedup["kept"] == 1  # another folder, another store
    assert (tmp_path / "work" / ".scrapy" / "dedup").is_dir()


DROP_SIBLINGS = ["identical", "near-duplicate", "unchanged", "sibling"]
NO_FILTER = "scrapy.dupefilters.BaseDupeFilter"


def test_namespaces_never_meet(site: Site, run: Run) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    kept = [len(run(urls=[url], settings={"DEDUP_NAMESPACE": name}).items) for name in ("x", "y", "x")]
    kept += [len(run(spider, urls=[url]).items) for spider in ("Reader", "AsyncReader", "Reader")]

    assert kept == [1, 1, 0, 1, 1, 0]


def test_the_namespace_is_the_name_that_the_spider_bears(site: Site, run: Run) -> None:
    url = site.put("/a", plain("Ice", text(1)))

    assert [len(run("Named", urls=[url], site=name).items) for name in ("x", "y", "x")] == [1, 1, 0]


def test_a_changed_page_is_kept_as_updated(site: Site, run: Run) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    run(urls=[url])
    site.put("/a", plain("Ice", text(1) + " " + text(4, 80)))
    changed, again = run(urls=[url]), run(urls=[url])

    assert [verdict["relation"] for verdict in changed.verdicts] == ["updated"]
    assert changed.dedup["related/updated"] == 1
    assert again.items == []


def test_off_means_off(site: Site, run: Run, tmp_path: Path) -> None:
    crawled = run(urls=reprints(site), settings={"DEDUP_ENABLED": False, "DEDUP_THRESHOLD": "nonsense"})

    assert len(crawled.items) == 5
    assert crawled.dedup == {}
    assert not (tmp_path / "work" / ".scrapy").exists()
    assert not crawled.lines("Disabled")


def test_a_page_can_opt_out(site: Site, run: Run) -> None:
    urls = [site.put(path, plain("Ice", text(1))) for path in ("/a", "/b?skip", "/c?skip")]
    crawled = run(urls=urls)

    assert len(crawled.items) == 3
    assert crawled.dedup["unchecked/skip"] == 2
    assert not any("dedup" in item for item in crawled.items)


def test_known_duplicates_need_not_be_followed(site: Site, run: Run) -> None:
    deep = site.put("/deep", plain("Deep", text(9)))
    url = site.put("/a", plain("Ice", text(1), deep))
    settings = {"DEDUP_FOLLOW_DUPLICATES": False}
    run(urls=[url], settings=settings)
    before = len(site.asked)
    second = run(urls=[url], settings=settings)

    assert site.asked[before:] == ["/a"]
    assert second.items == []
    assert second.dedup["dropped"] == second.dedup["duplicate/unchanged"] == 1
    assert len(second.lines("Dropped", "INFO")) == 1
    assert "item_dropped_count" not in second.stats
    assert len(run(urls=[url]).lines("Dropped", "INFO")) == 2  # by default links are followed


def test_the_latest_copy_may_be_the_one_to_keep(site: Site, run: Run) -> None:
    old = site.put("/a", plain("Ice", text(1)))
    new = site.put("/b", fancy("Ice", text(1)))
    settings = {"DEDUP_KEEP": "latest"}
    run(urls=[old], settings=settings)
    second = run(urls=[new], settings=settings)

    assert [verdict["supersedes"] for verdict in second.verdicts] == [old]
    assert run(urls=[old], settings={"DEDUP_KEEP": "first"}).items == []


def test_only_the_chosen_relations_are_dropped(site: Site, run: Run) -> None:
    crawled = run(urls=reprints(site), settings={"DEDUP_DROP": "unchanged"})

    assert len(crawled.items) == 5
    assert crawled.dedup["duplicate"] == 2
    assert "dropped" not in crawled.dedup
    assert sum(verdict is not None for verdict in crawled.verdicts) == 2


def test_two_spiders_of_one_process_may_share_a_store(site: Site, tmp_path: Path) -> None:
    urls = reprints(site)
    settings = {"DEDUP_NAMESPACE": "shared"}
    both = finish(start(tmp_path, ("Reader", {"urls": urls}), ("AsyncReader", {"urls": urls}), settings=settings))

    kept = [item["title"].casefold().strip("!") for each in both for item in each.items]
    assert sorted(kept) == ["bridge", "ice", "lamps"]


def test_siblings_are_kept_and_logged(site: Site, run: Run) -> None:
    """Pages of one site with the same terms, each under another heading; a copy for printers of one of them."""
    terms = text(1)
    names = ("Carpenter", "Plumber", "Joiner")
    urls = [site.put(f"/jobs/{name}", plain(name, terms)) for name in names]
    urls.append(site.put("/print/Plumber", plain("Plumber", terms)))

    crawled = run(urls=urls, settings=IN_TURN)
    assert [item["url"] for item in crawled.items] == urls[:3]
    assert [each and (each["relation"], each["of"], each["keep"]) for each in crawled.verdicts] == [
        None,
        ("sibling", urls[0], True),
        ("sibling", urls[0], True),
    ]
    assert len(crawled.lines(f": sibling of {urls[0]}", "DEBUG")) == 2
    assert crawled.dedup["related/sibling"] == 2
    assert crawled.dedup["duplicate/identical"] == 1

    dropping = run(urls=urls, settings={**IN_TURN, "DEDUP_DROP": DROP_SIBLINGS, "DEDUP_NAMESPACE": "other"})
    assert [item["url"] for item in dropping.items] == urls[:1]
    assert len(dropping.lines(": sibling of ", "INFO")) == 3


def test_a_page_whose_counter_moved_is_refreshed(site: Site, run: Run) -> None:
    story = text(1)
    url = site.put("/a", plain("Ice", f"{story} So far it has 12 comments."))
    assert len(run(urls=[url]).items) == 1
    site.put("/a", plain("Ice", f"{story} So far it has 13 comments."))
    again = run(urls=[url], settings={"DEDUP_DROP": [*DROP_SIBLINGS, "refreshed"]})
    assert again.items == []
    assert again.dedup["related/refreshed"] == 1
    assert again.lines(f": refreshed version of {url}", "INFO")


def test_what_only_judges_may_change_on_a_filled_store(site: Site, run: Run) -> None:
    body = text(1, 400).split()
    for number in (40, 130, 220, 310):
        body[number] = "quite"
    name = " ".join(body[:8])
    first, second = site.put("/a", plain(name, text(1, 400))), site.put("/b", fancy(name, " ".join(body)))
    run(urls=[first])
    changes: list[tuple[dict[str, Any], int]] = [
        ({"DEDUP_THRESHOLD": 0.99}, 1),
        ({"DEDUP_THRESHOLD": 0.75}, 0),
        ({"DEDUP_LENGTH_RATIO": 1.5, "DEDUP_LENGTH_SLACK": 900}, 0),
        ({"DEDUP_SCOPE": "other-hosts"}, 1),
        ({"DEDUP_DROP": "identical"}, 1),
        ({"DEDUP_MIN_CHARS": 50}, 0),
        ({"DEDUP_TTL": 3600}, 0),
    ]
    refuse = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}, "REFUSE": "/b"}  # so that nothing is filed
    for settings, kept in changes:
        crawled = run(urls=[second], settings={**settings, **refuse})
        assert crawled.dedup.get("dropped", 0) == 1 - kept, settings
        assert crawled.items == []
