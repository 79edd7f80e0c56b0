"""Commands of Scrapy with which a person looks at pages leave no trace; those that crawl do."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy import cmdline
from scrapy.commands.crawl import Command as CrawlCommand

from dedupcrawl import Deduplicator
from dedupcrawl.crawl.addon import LOOKING_COMMANDS, looking_command
from dedupcrawl.stores import list_namespaces
from tests.crawl.running import PATIENCE
from tests.crawl.site import plain, text
from tests.forking import processes

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from tests.crawl.site import Site

PROJECT = """
SPIDER_MODULES = ["looked"]
ADDONS = {"dedupcrawl.Addon": 500}
DEDUP_REPORT = "report.html"
DEDUP_RESPONSE_META = True
TELNETCONSOLE_ENABLED = False
"""
SPIDER = '''
from scrapy import Spider

class Looked(Spider):
    name = "looked"
    start_urls = ["URL"]

    def parse(self, response):
        """
        @url URL
        @returns items 1 1
        """
        yield {"url": response.url, "text": response.meta["dedup"].page.text}
'''


class Project:
    """A Scrapy project, in which commands run."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "scrapy.cfg").write_text("[settings]\ndefault = looking_settings\n")
        (self.folder / "looking_settings.py").write_text(PROJECT)
        (self.folder / "looked.py").write_text(SPIDER.replace("URL", url))
        self.output = folder

    def start(self, *command: str) -> BaseProcess:
        """Start a command."""
        process = processes().Process(target=run_command, args=(self.folder, self.log(command), command))
        process.start()
        return process

    def said(self, *command: str) -> str:
        """Return what a command has written to the terminal."""
        return self.log(command).read_text()

    def files(self) -> dict[Path, bytes]:
        """Return the content of all files, without Python's own."""
        paths = [path for path in self.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        return {path: path.read_bytes() for path in paths}

    def log(self, command: tuple[str, ...]) -> Path:
        return self.output / f"{command[0]}.log"


def run_command(folder: Path, log: Path, command: tuple[str, ...]) -> None:
    """Run a command of Scrapy in this process."""
    os.chdir(folder)
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ["BROWSER"] = "true"
    sys.path.insert(0, str(folder))
    cmdline.execute(["scrapy", *command])


def test_who_looks_at_a_page_leaves_no_trace(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    project = Project(tmp_path, url)
    crawl = project.start("crawl", "looked", "-O", "out.jl")
    crawl.join(PATIENCE)
    assert crawl.exitcode == 0, project.said("crawl")
    before = project.files()
    assert {path.name for path in before} > {"out.jl", "report.html", "report.ledger", "data.mdb"}

    commands = (
        ("shell", url, "-c", "response.meta['dedup'].page.text[:9]"),
        ("fetch", url),
        ("parse", url, "--spider", "looked", "--pipelines"),
        ("bench", "-s", "CLOSESPIDER_TIMEOUT=1"),
        ("check",),
        ("view", url),
    )
    started = {command: project.start(*command) for command in commands}
    for command, process in started.items():
        process.join(PATIENCE)
        assert process.exitcode == 0, project.said(*command)
        assert "Traceback" not in project.said(*command)
    assert project.files() == before
    for command in commands[:4]:
        assert f"`scrapy {command[0]}` leaves no trace" in project.said(*command)
    assert "1 contracts" not in project.said("check")
    assert "Ran 1 contract" in project.said("check")
    assert text(1)[:9] in project.said("shell")
    assert text(1)[:40] in project.said("parse")
    with Deduplicator(f"lmdb://{project.folder}/.scrapy/dedup", "looked") as store:
        assert store.info().pages == 1


def test_a_store_on_the_command_line_is_used_all_the_same(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    project = Project(tmp_path, url)
    where = f"lmdb://{tmp_path}/elsewhere"
    parsed = project.start("parse", url, "--spider", "looked", "--pipelines", "-s", f"DEDUP_STORE={where}")
    parsed.join(PATIENCE)
    said = (tmp_path / "parse.log").read_text()
    assert parsed.exitcode == 0, said
    assert "leaves no trace" not in said
    assert not (project.folder / "report.html").exists()
    assert list_namespaces(where) == ["looked"]


def test_the_commands_of_dedupcrawl_are_a_command_of_scrapy(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    project = Project(tmp_path, url)
    for command, expected in (
        (("dedup", "store", "info"), "error: There is no store in the folder"),
        (("crawl", "looked"), "1 kept"),
        (("dedup", "store", "info", "--json"), '"pages": 1'),
        (("dedup", "explain", url), url),
        (("dedup", "report", "-o", "store.html"), "store.html: "),
        (("dedup", "help"), "Usage: scrapy dedup"),
    ):
        process = project.start(*command)
        process.join(PATIENCE)
        assert expected in project.said(*command), command
    assert (project.folder / "store.html").exists()


@pytest.mark.parametrize("name", LOOKING_COMMANDS)
def test_a_command_of_a_project_may_extend_one(name: str) -> None:
    module = pytest.importorskip(f"scrapy.commands.{name}")

    class Own(module.Command):  # type: ignore[misc, name-defined]
        def run(self, *_: object) -> str:
            return looking_command()

    assert Own().run() == name


def test_other_commands_crawl() -> None:
    class CrawlAll(CrawlCommand):
        def run(self, *_: object) -> str:  # type: ignore[override]
            return looking_command()

    assert CrawlAll().run() == ""
    assert looking_command() == ""
