"""The services of examples/compose, run by their own commands, without Docker."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import yaml

from tests.examples.project import CONTENTS, ROOT, Project, answers, counted, eventually, faults
from tests.stores.servers import binaries, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = ROOT / "examples" / "compose"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
WORKERS = sorted(name for name in SERVICES if name.startswith("worker-"))
IMAGE = (FOLDER / "Dockerfile").read_text("utf-8")
FAST = ("-s", "DOWNLOAD_DELAY=0", "-s", 'EXTENSIONS={"tests.examples.hurry.Heartbeat": 0}')


class Host:
    """Runs the commands of the services on this machine: Valkey on a free port, the image's folders in ``folder``."""

    def __init__(self, folder: Path, origins: dict[str, str], commands: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.project = Project(folder / "project", self.here("redis://valkey:6379/0"), origins, commands)
        (self.project.folder / "scrapy.cfg").unlink()  # in the image it is in another folder than the current one

    def here(self, text: str) -> str:
        return text.replace("valkey:6379", f"127.0.0.1:{self.port}").replace("/project", f"{self.folder}/project")

    def start(self, name: str, *more: str) -> Any:
        """Start a service with additional arguments."""
        service = SERVICES[name]
        command = [*service.get("entrypoint", []), *service.get("command", [])]
        given = {**image_variables(), **service.get("environment", {})}
        given["PYTHONPATH"] += f":{ROOT}"  # where the image has the wheel
        variables = [f"{each}={self.here(value)}" for each, value in given.items()]
        return self.project.begin(["env", *variables, *map(self.here, command), *more], name)

    def start_server(self) -> None:
        program, *options = SERVICES["valkey"]["command"]
        server = binaries()[program.removesuffix("-server")]
        self.project.begin([str(server), *options, "--port", str(self.port), "--dir", str(self.folder)], "valkey")
        eventually(lambda: answers(self.port), "no server")


def image_variables() -> dict[str, str]:
    """The variables that the Dockerfile sets."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^ENV (.*)", IMAGE, re.MULTILINE))))


def test_three_workers_keep_each_article_once(tmp_path: Path, origins: dict[str, str], commands: Path) -> None:
    host = Host(tmp_path, origins, commands)
    try:
        host.start_server()
        workers = [host.start(name, *FAST) for name in WORKERS]
        host.start("push", *host.project.starts).wait()
        numbers = [str(number) for number in range(1, len(WORKERS) + 1)]
        eventually(lambda: host.project.contents(*numbers).keys() == CONTENTS, "articles are missing")
        eventually(lambda: (host.project.folder / "worker-1.log").stat().st_size > 0, "no log")
        watched = host.start("watch").wait()
        for worker in workers:
            worker.process.send_signal(signal.SIGTERM)  # as docker compose stop does
        logs = [worker.wait() for worker in workers]
        stored = host.project.contents(*numbers)
    finally:
        host.project.end()
    assert stored == dict.fromkeys(CONTENTS, 1)
    assert sum(counted(log)["kept"] for log in logs) == len(CONTENTS)
    assert [fault for log in logs for fault in faults(log)] == []
    assert len(WORKERS) == 3
    assert re.search(rf"\b{len(CONTENTS)}\b", watched), watched


def test_the_image_has_what_the_package_is_built_from(tmp_path: Path) -> None:
    """The first stage of the Dockerfile: its COPY lines, and its command to build a wheel."""
    stage = IMAGE.split("\nFROM ")[1]
    source = tmp_path / "source"
    source.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for copied, target in (line.rsplit(" ", 1) for line in re.findall(r"^COPY (.*)", stage, re.MULTILINE)):
        for name in copied.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / target, ignore=ignored)
            else:
                shutil.copy(ROOT / name, source / target)
    made = ROOT / "build" / "cython"
    if made.is_dir():  # from the installation of this repository: what is up to date is not made again
        shutil.copytree(made, source / "build" / "cython")
    (command,) = re.findall(r"^RUN pip (wheel .*) --wheel-dir /wheels \.$", stage, re.MULTILINE)
    pip = [sys.executable, "-m", "pip", *command.split(), "--quiet", "--no-build-isolation"]
    # Without a compiler: the extensions are built elsewhere.
    done = subprocess.run(
        ["env", "CC=/bin/false", *pip, "--wheel-dir", str(tmp_path), "."],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {*archive.namelist()}
    modules = {str(path.relative_to(ROOT)) for path in package_files() if path.suffix in (".py", ".lua", ".gz", ".npz")}
    assert modules <= packed


def package_files() -> Iterator[Path]:
    yield from (path for path in (ROOT / "dedupcrawl").rglob("*") if "__pycache__" not in path.parts)
