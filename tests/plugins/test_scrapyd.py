"""Scrapyd: a deployed project, whose jobs share one store."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.crawl.running import PATIENCE, check_summary, wait_for
from tests.crawl.site import fancy, plain, text
from tests.data import ROOT
from tests.stores.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crawl.site import Site

SPIDER = """
from scrapy import Spider

class News(Spider):
    name = "news"

    def __init__(self, urls="", **arguments):
        super().__init__(**arguments)
        self.start_urls = urls.split()

    def parse(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}
"""
SETTINGS = """
BOT_NAME = "news"
SPIDER_MODULES = ["news.spiders"]
ADDONS = {"dedupcrawl.Addon": 500}
DEDUP_STORE = "lmdb://FOLDER"
TELNETCONSOLE_ENABLED = False
CONCURRENT_REQUESTS = 1
"""
CONF = """
[scrapyd]
http_port = PORT
poll_interval = 0.1
items_dir = items
logs_dir = logs
"""


class Daemon:
    """A scrapyd in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, port = folder, free_port()
        self.url = f"http://127.0.0.1:{port}"
        folder.mkdir()
        (folder / "scrapyd.conf").write_text(CONF.replace("PORT", str(port)))
        with (folder / "scrapyd.log").open("wb") as log:
            command = [str(Path(sys.executable).parent / "scrapyd")]
            environment = {"PATH": str(Path(sys.executable).parent), "PYTHONPATH": str(ROOT), "HOME": str(folder)}
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        wait_for(lambda: self.process.poll() is not None or self.answers())

    @property
    def said(self) -> str:
        """The log of the daemon."""
        return (self.folder / "scrapyd.log").read_text()

    def answers(self) -> bool:
        try:
            self.call("get", "daemonstatus")
        except requests.ConnectionError:
            return False
        return True

    def call(self, method: str, service: str, **how: Any) -> dict[str, Any]:
        answer: dict[str, Any] = requests.request(method, f"{self.url}/{service}.json", timeout=60, **how).json()
        assert answer["status"] == "ok", f"{answer.get('message')}\n{self.said}"
        return answer

    def deploy(self, egg: bytes) -> None:
        data = {"project": "news", "version": "1"}
        assert self.call("post", "addversion", data=data, files={"egg": egg})["spiders"] == 1

    def run(self, **arguments: str) -> Job:
        """Run a job to its end."""
        given = {"project": "news", "spider": "news", **arguments}
        job = self.call("post", "schedule", data=given)["jobid"]
        wait_for(lambda: any(each["id"] == job for each in self.call("get", "listjobs")["finished"]))
        return Job(self.folder, job)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


class Job:
    """The items and the log of a job."""

    def __init__(self, folder: Path, job: str) -> None:
        self.log = (folder / "logs" / "news" / "news" / f"{job}.log").read_text()
        lines = (folder / "items" / "news" / "news" / f"{job}.jl").read_text().splitlines()
        self.titles = [json.loads(line)["title"] for line in lines]

    @property
    def summary(self) -> str:
        """The line with the number of pages."""
        [line] = [line for line in self.log.splitlines() if "Pages: " in line]
        check_summary(line)
        return line.partition("Pages: ")[2]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "scrapyd")
    try:
        yield daemon
    finally:
        daemon.end()


def egg_of(store: Path) -> bytes:
    """Build the egg of a project, as ``scrapyd-deploy`` does."""
    files = {
        "news/__init__.py": "",
        "news/settings.py": SETTINGS.replace("FOLDER", str(store)),
        "news/spiders/__init__.py": "",
        "news/spiders/news.py": SPIDER,
        "EGG-INFO/PKG-INFO": "Metadata-Version: 2.1\nName: news\nVersion: 1.0\n",
        "EGG-INFO/entry_points.txt": "[scrapy]\nsettings = news.settings\n",
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as egg:
        for name, content in files.items():
            egg.writestr(name, content)
    return written.getvalue()


def test_jobs_of_scrapyd_share_a_store(site: Site, tmp_path: Path, daemon: Daemon) -> None:
    daemon.deploy(egg_of(tmp_path / "store"))
    a, b = site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))
    c = site.put("/c", plain("Fire", text(2)))
    first = daemon.run(urls=f"{a} {b}")
    assert first.titles == ["Ice"], first.log
    assert first.summary.startswith("2 = 1 kept + 0 kept unchecked + 1 dropped")
    second = daemon.run(urls=f"{a} {b} {c}")
    assert second.titles == ["Fire"], second.log
    assert second.summary.startswith("3 = 1 kept + 0 kept unchecked + 2 dropped")
    for job in (first, second):
        assert " ERROR" not in job.log
        assert " WARNING" not in job.log
    settings = {"setting": "DEDUP_NAMESPACE=others"}
    assert daemon.run(urls=a, **settings).titles == ["Ice"], "a setting of the job counts"
