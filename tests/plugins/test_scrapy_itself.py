"""What is part of Scrapy: kinds of items, loaders, media pipelines, jobs that go on, and crawls in scripts."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.crawl.running import IN_TURN
from tests.crawl.site import fancy, plain, text
from tests.data import ROOT
from tests.plugins.articles import articles

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

SPIDERS = "tests.plugins.spiders"


def titles(crawled: Crawled) -> list[str]:
    return sorted(item["title"] for item in crawled.items)


@pytest.mark.parametrize("kind", ["dict", "plain", "data", "attrs-plain", "pydantic"])
def test_every_kind_of_item(site: Site, run: Run, kind: str) -> None:
    crawled = run(urls=articles(site), kind=kind, settings=IN_TURN)
    assert titles(crawled) == ["Fire", "Ice"]
    assert crawled.dedup["dropped"] == 1


def test_items_of_loaders(site: Site, run: Run) -> None:
    crawled = run(f"{SPIDERS}.Loading", urls=articles(site), settings=IN_TURN)
    assert sorted(item["title"][0] for item in crawled.items) == ["Fire", "Ice"]
    assert crawled.dedup["dropped"] == 1


@pytest.mark.parametrize("pipeline", ["files.FilesPipeline", "images.ImagesPipeline"])
def test_files_and_images_of_copies_are_not_downloaded(site: Site, run: Run, tmp_path: Path, pipeline: str) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (80, 60), "red").save(picture, "PNG")
    for path in ("/a.png", "/b.png", "/c.png"):
        site.put(path, picture.getvalue(), kind="image/png")
    stored = tmp_path / "stored"
    settings = {
        "ITEM_PIPELINES": {f"scrapy.pipelines.{pipeline}": 100},
        "FILES_STORE": str(stored),
        "IMAGES_STORE": str(stored),
        **IN_TURN,
    }
    crawled = run(f"{SPIDERS}.Pictures", urls=articles(site), settings=settings)
    assert titles(crawled) == ["Fire", "Ice"]
    field = "files" if "files" in pipeline else "images"
    assert [[each["status"] for each in item[field]] for item in crawled.items] == [["downloaded"], ["downloaded"]]
    assert "/b.png" not in site.asked
    assert len([path for path in stored.rglob("*") if path.is_file()]) == 2
    assert crawled.dedup["requests_saved"] == 1


def test_a_job_that_is_stopped_goes_on(site: Site, run: Run, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(20)]
    urls += [site.put(f"/copy/{n}", fancy(f"T{n}", text(n))) for n in range(20)]
    settings = {"JOBDIR": str(tmp_path / "job"), **IN_TURN}
    stopped = run(urls=urls, settings={**settings, "CLOSESPIDER_ITEMCOUNT": 8})
    assert stopped.reason == "closespider_itemcount"
    assert 8 <= len(stopped.items) < 20
    rest = run(urls=urls, settings=settings)
    assert rest.reason == "finished"
    assert sorted([*titles(stopped), *titles(rest)]) == sorted(f"T{n}" for n in range(20)), "each once"


SCRIPT = """
import asyncio, json, sys
from scrapy.crawler import AsyncCrawlerProcess, AsyncCrawlerRunner
from scrapy.utils.reactor import install_reactor
from tests.plugins.spiders import Titles

how, *urls = sys.argv[1:]
SETTINGS = {
    "ADDONS": {"dedupcrawl.Addon": 500},
    "FEEDS": {"%(name)s.jl": {"format": "jsonlines"}},
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,
}

class Again(Titles):
    name = "again"
    custom_settings = {"DEDUP_NAMESPACE": "titles"}

if how == "process":
    process = AsyncCrawlerProcess(SETTINGS)
    process.crawl(Titles, urls=urls)
    process.start()
elif how == "runner":
    async def main():
        runner = AsyncCrawlerRunner({**SETTINGS, "TWISTED_REACTOR_ENABLED": False})
        await runner.crawl(Titles, urls=urls)
        await runner.crawl(Again, urls=urls)
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["process", "runner"])
def test_crawls_in_a_script(site: Site, tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-c", SCRIPT, how, *articles(site)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": str(Path(sys.executable).parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    stored = (tmp_path / "titles.jl").read_text().splitlines()
    assert [json.loads(line)["title"] for line in stored] == ["Ice", "Fire"]
    assert "ERROR" not in done.stderr
    if how == "runner":
        assert (tmp_path / "again.jl").read_text() == "", "the second crawl of the script knows what the first stored"
