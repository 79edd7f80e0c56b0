"""Recrawls that ask for known pages conditionally: what is downloaded, kept, followed and found."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.crawl.validator_entry import VALIDATORS, ValidatorEntry
from dedupcrawl.crawl.validators import HONEST_PAGES, TRUST, TRUST_PAGES, TURNS, UNCHANGED
from dedupcrawl.stores import open_existing
from tests.crawl.running import Crawled, finish, on_every_reactor, start, wait_for
from tests.crawl.site import plain, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Server

    Run = Callable[..., Crawled]

PAGES = 12
ON: Mapping[str, Any] = {"DEDUP_REVALIDATE": True, "DEDUP_NAMESPACE": "news"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Crawl in a process of its own, with an LMDB store of this test's own."""
    return partial(_run, tmp_path)


def _run(folder: Path, *, spider: str = "Reader", settings: Mapping[str, Any] | None = None, **args: Any) -> Crawled:
    return finish(start(folder, (spider, args), settings={**ON, **store_in(folder), **(settings or {})}))[0]


def store_in(folder: Path) -> dict[str, Any]:
    return {"DEDUP_STORE": f"lmdb://{folder}/store"}


def put(site: Site, path: str, number: int, *links: str, etag: str = "", modified: str = "") -> str:
    """Serve an article under a path; its validator says which one it is, unless the test names another."""
    url = site.put(path, plain(f"Title {number}", text(number), *links))
    tag = "" if modified else etag or f'"{number}-{len(links)}"'
    site.answers[path] = replace(site.answers[path], etag=tag, modified=modified)
    return url


def hub(site: Site, numbers: Sequence[int], path: str = "/") -> str:
    """Serve a page that links to articles and is none."""
    links = "".join(f'<li><a class=follow href="/{number}">read</a>' for number in numbers)
    url = site.put(path, f"<html><body><ul>{links}</ul></body></html>")
    site.answers[path] = replace(site.answers[path], etag=f'"hub-{"-".join(map(str, numbers))}"')
    return url


def made(site: Site, pages: int = PAGES) -> str:
    for number in range(pages):
        put(site, f"/{number}", number)
    return hub(site, range(pages))


def set_turns(store: str, turns: Callable[[bytes, ValidatorEntry], int], namespace: str = "news") -> int:
    """Choose the pages that the next crawl asks for unconditionally: turn 0; return how many are known.

    All of them count as compared with an earlier visit.
    """
    with open_existing(store, namespace) as opened:
        count = 0
        for table, site in opened.notes.tables():
            if table == VALIDATORS:
                found = opened.notes.read_all(table, site)
                entries = {key: ValidatorEntry.unpack(value) for key, value in found.items()}
                chosen = {
                    key: replace(each, turn=turns(key, each), compared=1) for key, each in entries.items() if each
                }
                changed = {key: each.pack() for key, each in chosen.items()}
                opened.notes.write(table, site, changed, 10_000)
                count += len(changed)
        return count


def notes(store: str, table: str, namespace: str = "news") -> dict[bytes, bytes]:
    with open_existing(store, namespace) as opened:
        return {
            key: value
            for site in opened.notes.sites(table)
            for key, value in opened.notes.read_all(table, site).items()
        }


def statuses(site: Site) -> dict[str, list[int]]:
    """Return the statuses of the answers since the last call, by path."""
    found: dict[str, list[int]] = {}
    for path, status in site.statuses:
        found.setdefault(path, []).append(status)
    site.statuses.clear()
    site.sent = 0
    return found


def urls(crawled: Crawled) -> set[str]:
    return {item["url"].rpartition("/")[2] for item in crawled.items}


def recrawl_conditionally(folder: Path) -> None:
    """Let the next crawl ask for all pages conditionally."""
    assert set_turns(store_in(folder)["DEDUP_STORE"], lambda key, entry: TURNS - 1) > 0


# -- what is downloaded ---------------------------------------------------------------------------


def test_unchanged_pages_are_not_downloaded_and_their_links_are_followed(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site)
    first = run(urls=[start_url])
    assert len(first.items) == PAGES
    assert "not_modified" not in first.dedup
    assert set(map(tuple, statuses(site).values())) == {(200,)}
    recrawl_conditionally(tmp_path)
    put(site, "/3", 103)  # below a hub that has not changed
    second = run(urls=[start_url])
    found = statuses(site)
    assert found == {"/": [304], **{f"/{n}": [200 if n == 3 else 304] for n in range(PAGES)}}
    assert urls(second) == {"3"}
    assert second.dedup["not_modified"] == PAGES
    assert second.dedup["not_modified/bytes"] > 1000 * (PAGES - 1)
    assert notes(store_in(tmp_path)["DEDUP_STORE"], UNCHANGED) == {}
    assert len(second.lines(f"Not modified: {PAGES} pages of ", "INFO")) == 1


def test_new_links_of_a_changed_page_are_followed(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site)
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    put(site, "/99", 99)
    hub(site, [*range(PAGES), 99])
    assert urls(run(urls=[start_url])) == {"99"}
    statuses(site)
    recrawl_conditionally(tmp_path)
    assert run(urls=[start_url]).items == []
    assert statuses(site)["/99"] == [304]


def test_every_reactor_asks_conditionally(site: Site, tmp_path: Path) -> None:
    start_url = made(site, 4)
    settings = {**ON, "DEDUP_STORE": "lmdb://store", "LOG_LEVEL": "INFO"}
    on_every_reactor(tmp_path, ("Reader", {"urls": [start_url]}), settings=settings)
    for folder in [each for each in tmp_path.iterdir() if each.is_dir()]:
        recrawl_conditionally(folder)
    again = on_every_reactor(tmp_path, ("Reader", {"urls": [start_url]}), settings=settings)
    for reactor, (crawled,) in again.items():
        assert (crawled.items, crawled.dedup["not_modified"]) == ([], 5), reactor


def test_dropped_copies_are_asked_for_conditionally(run: Run, site: Site, tmp_path: Path) -> None:
    put(site, "/0", 0)
    put(site, "/1", 0, etag='"copy"')
    start_url = hub(site, [0, 1])
    assert len(run(urls=[start_url]).items) == 1
    recrawl_conditionally(tmp_path)
    statuses(site)
    assert run(urls=[start_url]).items == []
    assert statuses(site) == {"/": [304], "/0": [304], "/1": [304]}


def test_the_date_of_a_page_is_a_validator_if_it_is_not_recent(run: Run, site: Site, tmp_path: Path) -> None:
    put(site, "/0", 0, modified="Sat, 01 Nov 2025 10:00:00 GMT")
    put(site, "/1", 1, modified="Sat, 01 Nov 2099 10:00:00 GMT")
    start_url = hub(site, [0, 1])
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    statuses(site)
    assert run(urls=[start_url]).items == []
    assert statuses(site) == {"/": [304], "/0": [304], "/1": [200]}


def test_nothing_is_conditional_by_default(run: Run, site: Site) -> None:
    start_url = made(site, 3)
    for _ in range(2):
        run(urls=[start_url], settings={"DEDUP_REVALIDATE": False})
    assert {status for some in statuses(site).values() for status in some} == {200}


# -- no page is lost ------------------------------------------------------------------------------


def test_a_page_whose_item_another_pipeline_refused_is_downloaded_again(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 4)
    refusing = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}}
    assert urls(run(urls=[start_url], settings=refusing)) < {"0", "1", "2", "3"}
    kept = urls(run(urls=[start_url], settings=refusing))
    recrawl_conditionally(tmp_path)
    statuses(site)
    later = run(urls=[start_url])
    found = statuses(site)
    assert found["/"] == [304]
    refused = {path for path, some in found.items() if 200 in some}
    assert refused
    assert {f"/{url}" for url in urls(later)} == refused
    assert not kept & urls(later)


def test_a_page_that_was_forgotten_is_downloaded_and_kept_again(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 4)
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    with open_existing(store_in(tmp_path)["DEDUP_STORE"], "news") as store:
        assert store.forget(f"{site.base}/2") == 1
    assert urls(run(urls=[start_url])) == {"2"}


def test_pages_of_a_crawl_whose_feed_was_lost_are_downloaded_again(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 4)
    lost = {"FEEDS": {"ftp://127.0.0.1:9/items.json": {"format": "json"}}}
    assert len(run(urls=[start_url], settings=lost).items) == 4
    recrawl_conditionally(tmp_path)
    assert urls(run(urls=[start_url])) == {"0", "1", "2", "3"}


def test_a_killed_crawl_leaves_no_page_behind(site: Site, tmp_path: Path) -> None:
    start_url = made(site, 8)
    settings = {**ON, **store_in(tmp_path), "FEEDS": {f"file://{tmp_path}/items.jl": {"format": "jsonlines"}}}
    put(site, "/7", 7)
    site.answers["/7"] = replace(site.answers["/7"], delay=30.0)
    running = start(tmp_path, ("Reader", {"urls": [start_url]}), settings=settings)
    wait_for(lambda: len(notes_or_none(settings["DEDUP_STORE"])) >= 7)
    running.process.kill()
    running.process.join()
    put(site, "/7", 7)
    recrawl_conditionally(tmp_path)
    assert urls(finish(start(tmp_path, ("Reader", {"urls": [start_url]}), settings=settings))[0]) == set("01234567")


def notes_or_none(store: str) -> dict[bytes, bytes]:
    try:
        return notes(store, VALIDATORS)
    except Exception:  # noqa: BLE001  # the crawl has not opened the store yet
        return {}


def test_another_spider_reads_the_pages_again(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 3)
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    statuses(site)
    run(urls=[start_url], spider="AsyncReader")
    assert {status for some in statuses(site).values() for status in some} == {200}


def test_a_page_is_asked_for_conditionally_by_the_next_crawl_only(run: Run, site: Site) -> None:
    put(site, "/0", 0)
    polled = run(spider="Refollower", urls=[f"{site.base}/0"])
    assert statuses(site)["/0"] == [200, 200]
    assert "not_modified" not in polled.dedup


def test_what_a_request_passes_to_its_callback_belongs_to_the_page(run: Run, site: Site, tmp_path: Path) -> None:
    put(site, "/0", 0)
    run(spider="Passer", urls=[f"{site.base}/0"], label="one")
    recrawl_conditionally(tmp_path)
    statuses(site)
    run(spider="Passer", urls=[f"{site.base}/0"], label="one")
    assert statuses(site) == {"/0": [304]}
    run(spider="Passer", urls=[f"{site.base}/0"], label="two")
    assert statuses(site) == {"/0": [200]}


# -- other middlewares ----------------------------------------------------------------------------


def test_a_cache_does_not_store_responses_without_a_page(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 3)
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    assert run(urls=[start_url], settings=cached).dedup["not_modified"] == 4
    other = {**cached, "DEDUP_STORE": f"lmdb://{tmp_path}/other"}
    assert urls(run(urls=[start_url], settings=other)) == {"0", "1", "2"}
    statuses(site)
    again = {**cached, "DEDUP_STORE": f"lmdb://{tmp_path}/third"}
    assert urls(run(urls=[start_url], settings=again)) == {"0", "1", "2"}
    assert statuses(site) == {}


def test_a_retry_and_a_redirect_do_not_inherit_the_headers(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 2)
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    failing, site.answers["/0"] = site.answers["/0"], replace(site.answers["/0"], status=503, etag='"other"')
    site.on_path = lambda path: site.answers.__setitem__("/0", failing) if site.asked.count("/0") == 2 + 1 else None
    statuses(site)
    retrying = run(urls=[start_url], settings={"RETRY_ENABLED": True})
    assert statuses(site)["/0"] == [503, 304]
    assert retrying.dedup["not_modified"] == 3


def test_conditional_requests_of_the_project_are_left_alone(run: Run, site: Site, tmp_path: Path) -> None:
    put(site, "/0", 0)
    run(spider="Conditional", urls=[f"{site.base}/0"], tag="")
    recrawl_conditionally(tmp_path)
    statuses(site)
    own = run(spider="Conditional", urls=[f"{site.base}/0"], tag='"0-0"')
    assert statuses(site) == {"/0": [304]}
    assert own.items == [{"url": f"{site.base}/0", "status": 304}]
    assert "not_modified" not in own.dedup


def test_what_the_project_downloads_itself_is_left_alone(run: Run, site: Site, tmp_path: Path) -> None:
    put(site, "/0", 0)
    put(site, "/1", 1)
    for _ in range(2):
        crawled = run(spider="Fetcher", urls=[f"{site.base}/0", f"{site.base}/1"])
        recrawl_conditionally(tmp_path)
    assert crawled.items == []
    assert statuses(site) == {"/0": [200, 200, 304, 200], "/1": [200, 200, 304, 200]}


def test_cookies_are_neither_an_obstacle_nor_stored(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site, 3), store_in(tmp_path)["DEDUP_STORE"]
    site.cookie = "session=geheim"
    run(urls=[start_url])
    recrawl_conditionally(tmp_path)
    lies_about(site, 1)
    set_turns(store, lambda key, entry: 0 if path_of(entry, site) == "/1" else 5)
    crawled = run(urls=[start_url])
    assert crawled.dedup["not_modified/again"] >= 1
    assert urls(crawled) == {"1"}
    with open_existing(store, "news") as opened:
        found = [opened.notes.read_all(*place) for place in opened.notes.tables()]
    assert not any(b"geheim" in zlib_text(value) for some in found for value in some.values())


def zlib_text(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


def test_middlewares_can_read_the_response_of_an_unchanged_page(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site, 3)
    reading = {"SPIDER_MIDDLEWARES": {"tests.crawl.components.ReadText": 500}, "COMPRESSION_ENABLED": True}
    run(urls=[start_url], settings=reading)
    recrawl_conditionally(tmp_path)
    again = run(urls=[start_url], settings=reading)
    assert again.dedup["not_modified"] == 4
    assert again.stats["read/304"] == 4
    assert "spider_exceptions/NotSupported" not in again.stats


# -- servers that lie -----------------------------------------------------------------------------


def lies_about(site: Site, *numbers: int) -> None:
    """Change articles and keep their ETags."""
    for number in numbers:
        put(site, f"/{number}", 100 + number, etag=f'"{number}-0"')


def path_of(entry: ValidatorEntry, site: Site) -> str:
    with_body = {each.etag: path for path, each in site.answers.items()}
    return with_body[entry.etag]


def test_a_lie_costs_a_site_its_trust(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    lies_about(site, 2, 5, 7)
    set_turns(store, lambda key, entry: 0 if path_of(entry, site) == "/7" else 5)
    statuses(site)
    crawled = run(urls=[start_url], settings={"CONCURRENT_REQUESTS": 1})
    found = statuses(site)
    assert urls(crawled) == {"2", "5", "7"}
    assert crawled.dedup["not_modified/lies"] >= 1
    assert {verdict["relation"] for verdict in crawled.verdict_on.values()} == {"updated"}
    assert all(some[-1] == 200 for some in found.values()), found
    assert len(crawled.lines("has changed under an equal ETag", "WARNING")) == 1
    assert int(notes(store, TRUST)[b"wrong"]) > HONEST_PAGES - 2 * PAGES
    statuses(site)
    run(urls=[start_url])
    assert {status for some in statuses(site).values() for status in some} == {200}


def test_a_page_is_compared_before_it_is_asked_for_conditionally(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    put(site, "/3", 103)
    statuses(site)
    second = run(urls=[start_url])
    assert {status for some in statuses(site).values() for status in some} == {200}
    assert second.dedup["not_modified/probes"] == PAGES + 1
    assert int(notes(store, TRUST)[b"right"]) == PAGES + 1
    assert {ValidatorEntry.unpack(each).compared for each in notes(store, VALIDATORS).values()} == {1}  # type: ignore[union-attr]
    set_turns(store, lambda key, entry: max(1, entry.turn))
    statuses(site)
    assert run(urls=[start_url]).dedup["not_modified"] == PAGES + 1


def test_the_second_crawl_of_a_small_site_finds_every_lie(run: Run, site: Site, tmp_path: Path) -> None:
    start_url = made(site)
    run(urls=[start_url])
    lies_about(site, 2, 7)
    crawled = run(urls=[start_url])
    assert urls(crawled) == {"2", "7"}
    assert crawled.dedup["not_modified/lies"] == 2
    found = notes(store_in(tmp_path)["DEDUP_STORE"], TRUST)
    assert int(found[b"wrong"]) > HONEST_PAGES - 2 * PAGES
    assert int(found[b"right"]) <= 2 * PAGES


@pytest.mark.parametrize("right", [TRUST_PAGES - 2 * PAGES, TRUST_PAGES])
def test_pages_of_a_site_that_told_the_truth_need_no_comparison(
    run: Run, site: Site, tmp_path: Path, right: int
) -> None:
    start_url, store = made(site), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    set_turns(store, lambda key, entry: 5)
    with open_existing(store, "news") as opened:
        (known,) = opened.notes.sites(VALIDATORS)
        opened.notes.add(TRUST, known, {b"right": right})
        found = opened.notes.read_all(VALIDATORS, known)
        entries = {key: ValidatorEntry.unpack(value) for key, value in found.items()}
        fresh = {key: replace(each, compared=0).pack() for key, each in entries.items() if each}
        opened.notes.write(VALIDATORS, known, fresh, 10_000)
    statuses(site)
    run(urls=[start_url])
    expected = 304 if right >= TRUST_PAGES else 200
    assert {status for some in statuses(site).values() for status in some} == {expected}


def test_a_site_is_trusted_again_after_enough_honest_pages(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    with open_existing(store, "news") as opened:
        (known,) = opened.notes.sites(VALIDATORS)
        opened.notes.add(TRUST, known, {b"wrong": PAGES})
    run(urls=[start_url])
    assert int(notes(store, TRUST)[b"wrong"]) <= 0
    recrawl_conditionally(tmp_path)
    statuses(site)
    assert run(urls=[start_url]).dedup["not_modified"] == PAGES + 1


def test_a_lie_is_found_at_the_latest_after_all_turns(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site, 3), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    lies_about(site, 1)
    set_turns(store, lambda key, entry: 2)
    found = [urls(run(urls=[start_url])) for _ in range(3)]
    assert found == [set(), set(), {"1"}]


def test_a_new_link_under_an_equal_etag_is_a_lie_too(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site, 4), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    lying = site.answers["/"].etag
    put(site, "/9", 9)
    hub(site, [0, 1, 2, 3, 9])
    site.answers["/"] = replace(site.answers["/"], etag=lying)
    set_turns(store, lambda key, entry: 0 if entry.etag == lying else 5)
    crawled = run(urls=[start_url])
    assert urls(crawled) == {"9"}
    assert crawled.dedup["not_modified/lies"] == 1


def test_workers_share_validators_and_the_loss_of_trust(site: Site, server: Server, tmp_path: Path) -> None:
    start_url = made(site)
    other_hub = hub(site, [2, 5], "/other")
    settings = {**ON, "DEDUP_STORE": server.url, "DEDUP_LEASE": 3.0}
    finish(start(tmp_path, ("Reader", {"urls": [start_url, other_hub]}), settings=settings))
    lies_about(site, 2, 5, 7)
    set_turns(server.url, lambda key, entry: 0 if path_of(entry, site) == "/7" else 5)
    put_slow = replace(site.answers["/7"], delay=3.0)
    site.answers["/7"] = put_slow  # its worker finds the lie when the other has had its 304
    statuses(site)
    finder = start(tmp_path, ("Reader", {"urls": [f"{site.base}/7"]}), settings=settings)
    other = start(tmp_path, ("Reader", {"urls": [other_hub, f"{site.base}/7"]}), settings=settings)
    items = [urls(crawled) for running in (finder, other) for crawled in finish(running)]
    found = statuses(site)
    assert found["/2"][:2] == found["/5"][:2] == [304, 200]
    assert items[0] | items[1] == {"2", "5", "7"}
    assert sorted([*items[0], *items[1]]) == ["2", "5", "7"]


# -- notes ----------------------------------------------------------------------------------------


def test_damaged_notes_are_ignored(run: Run, site: Site, tmp_path: Path) -> None:
    start_url, store = made(site, 4), store_in(tmp_path)["DEDUP_STORE"]
    run(urls=[start_url])
    with open_existing(store, "news") as opened:
        (known,) = opened.notes.sites(VALIDATORS)
        keys = [*opened.notes.read_all(VALIDATORS, known)]
        garbage = [b"", b"\xff" * 40, json.dumps({"etag": 1}).encode(), b"x\x9c\x03\x00\x00\x00\x00\x01"]
        opened.notes.write(VALIDATORS, known, dict(zip(keys, garbage, strict=False)), 100)
        opened.notes.write(UNCHANGED, known, {b"k": b"[1]", b"l": b"\xff"}, 100)
        opened.notes.add(TRUST, known, {b"wrong": 5})
    crawled = run(urls=[start_url])
    assert crawled.reason == "finished"
    assert len(statuses(site)["/3"]) == 2


def test_an_entry_survives_packing_and_refuses_what_is_too_large() -> None:
    fields = {"url": "https://a.example/ü", "callback": "parse", "headers": {"Accept": ["*/*"]}, "meta": {"a": [1]}}
    entry = ValidatorEntry('"1"', "", "00", 9, 1, (fields,), (7, 2**47), "c0de", 1e9, 3)
    packed = entry.pack()
    assert packed is not None
    assert ValidatorEntry.unpack(packed) == entry
    assert entry.headers == {"If-None-Match": '"1"'}
    assert replace(entry, etag="", modified="date").headers == {"If-Modified-Since": "date"}
    nothing = replace(entry, etag="").pack()
    assert nothing is not None
    assert ValidatorEntry.unpack(nothing) is None
    many = tuple({"url": f"https://a.example/{hash(str(n))}/{n * 7919 % 104729}"} for n in range(1000))
    assert replace(entry, requests=many).pack() is None
    bomb = replace(entry, requests=({"url": "x" * (1 << 21)},))
    assert bomb.pack() is None
