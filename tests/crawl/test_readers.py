"""``DEDUP_READER`` selects the text that is compared, in real crawls."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.crawl.running import IN_TURN
from tests.crawl.site import fancy, index, plain, text
from tests.crawl.test_start import failing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

OWN = "tests.page.user_readers:"


def kept(crawled: Crawled, site: Site) -> list[str]:
    return sorted(item["url"].removeprefix(site.base) for item in crawled.items)


def noisy(title: str, body: str, seed: int) -> str:
    """An article above many small boxes of other words, more than it has itself."""
    chance = random.Random(seed)
    boxes = (" ".join(f"{chance.getrandbits(40):x}" for _ in range(12)) for _ in range(30))
    footer = "".join(f"<div>{box}</div>" for box in boxes)
    return plain(title, body).replace("</body>", f"<footer>{footer}</footer></body>")


@pytest.mark.parametrize(
    ("reader", "expected"), [("blocks", ["/a", "/c"]), ("topic", ["/a", "/c"]), ("text", ["/a", "/b", "/c"])]
)
def test_the_readers_of_the_package(site: Site, run: Run, reader: str, expected: list[str]) -> None:
    urls = [
        site.put("/a", noisy("Ice", text(1), 11)),
        site.put("/b", noisy("Ice", text(1), 12)),
        site.put("/c", noisy("Snow", text(2), 13)),
        site.put("/d", noisy("Snow", text(2), 13)),
        site.put("/list", index("/a", "/b", "/c", "/d")),
    ]
    crawled = run(urls=urls, settings={**IN_TURN, "DEDUP_READER": reader})
    assert kept(crawled, site) == expected
    assert not crawled.lines("Traceback")


@pytest.mark.parametrize("reader", ["topic", "text"])
def test_an_index_is_never_a_copy(site: Site, run: Run, reader: str) -> None:
    urls = [site.put(f"/list/{number}", index("/a", "/b", "/c")) for number in range(2)]
    crawled = run("Plainly", urls=urls, settings={"DEDUP_READER": reader, "HTTPERROR_ALLOW_ALL": True})
    assert [verdict["reason"] for verdict in crawled.verdicts] == ["index", "index"]


def test_the_topic_of_reprints_in_other_templates(site: Site, run: Run) -> None:
    urls = [site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))]
    assert kept(run(urls=urls, settings={**IN_TURN, "DEDUP_READER": "topic"}), site) == ["/a"]


def test_a_reader_of_the_user(site: Site, run: Run) -> None:
    urls = [
        site.put("/a", plain("The harbour froze over", text(1))),
        site.put("/b", plain("The harbour froze over", text(2))),
        site.put("/c", plain("The ferry sank", text(1))),
        site.put("/none", plain("", text(3)).replace("h1", "h2")),
    ]
    crawled = run("Plainly", urls=urls, settings={**IN_TURN, "DEDUP_READER": f"{OWN}headline"})
    assert kept(crawled, site) == ["/a", "/c", "/none"]
    assert crawled.dedup["unchecked/empty"] == 1


@pytest.mark.parametrize("follow", [True, False])
def test_where_it_fails_pages_are_kept_and_the_crawl_continues(site: Site, run: Run, follow: bool) -> None:
    urls = [site.put(f"/{n}", plain("The harbour froze over", text(n))) for n in range(6)]
    settings = {**IN_TURN, "DEDUP_READER": f"{OWN}fails_on_odd", "DEDUP_FOLLOW_DUPLICATES": follow}
    crawled = run(urls=urls, settings=settings)
    assert kept(crawled, site) == ["/0", "/1", "/3", "/5"]
    assert crawled.reason == "finished"
    reasons = {url[-2:]: verdict and verdict["reason"] for url, verdict in crawled.verdict_on.items()}
    assert reasons == {"/0": None, "/1": "error", "/3": "error", "/5": "error"}
    assert crawled.dedup["unchecked/error"] == crawled.dedup["errors"] == 3
    (line,) = crawled.lines("Could not judge", "ERROR")
    assert "KeyError: 'no such field'" in line
    assert "in fails_on_odd" in line


def test_what_it_returns_must_be_text(site: Site, run: Run) -> None:
    urls = [site.put(f"/{number}", plain("Ice", text(number))) for number in range(3)]
    crawled = run(urls=urls, settings={"DEDUP_READER": f"{OWN}returns_a_list"})
    assert {verdict["reason"] for verdict in crawled.verdicts} == {"error"}
    assert len(crawled.items) == 3
    (line,) = crawled.lines("Could not judge", "ERROR")
    assert "returned list for" in line
    assert "a str, a Page or None is accepted" in line


@pytest.mark.parametrize(
    ("reader", "why"),
    [
        ("topik", "package.module:name"),
        ("no_such_project.readers:read", "No module named 'no_such_project'"),
        (f"{OWN}absent", "no attribute 'absent'"),
        (f"{OWN}NOT_CALLABLE", "this is a str"),
        ("tests.page.user_readers:takes_html_only", "it is called with HTML and URL: too many positional arguments"),
    ],
)
def test_a_name_behind_which_there_is_no_reader(site: Site, tmp_path: Path, reader: str, why: str) -> None:
    (line,) = failing(tmp_path, site, {"DEDUP_READER": reader})
    assert f'DEDUP_READER = {reader!r} is not accepted: "blocks", "topic", "text" or the dotted name' in line
    assert why in line
