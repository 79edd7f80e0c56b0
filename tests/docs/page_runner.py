"""Runs the blocks of a page in a folder: its commands, files and Python."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.data import ROOT
from tests.docs.contexts import CONTEXTS
from tests.docs.output_matching import plain, shows
from tests.docs.settings_blocks import assigned_names, is_settings, validate, without_names
from tests.docs.shown_output import SHOWN_OUTPUT, check_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.docs.blocks import Block

WAIT = 600.0  #: seconds that a command may take on a busy machine
#: Commands that are skipped: everything is installed already.
INSTALLING = re.compile(r"(pip install|python3 -m venv) ")
INSTALLED = re.compile(r"^\. \.venv/bin/activate( && |$)")


@dataclass(repr=False)
class PageRunner:
    """Runs the blocks of one page."""

    folder: Path
    blocks: Sequence[Block]
    swaps: Sequence[tuple[str, str]]  #: addresses on the page, and the real ones
    names: dict[str, Any]  #: global names of the Python blocks
    commands: Path  #: folder with the commands of a running command server
    where: Path = field(init=False)  #: current folder of the shell
    errors: dict[int, BaseException | None] = field(default_factory=dict)  #: of each block that was run, by line
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.where = self.folder

    def run(self, block: Block) -> None:
        """Run a block, after all blocks above it that have not run yet."""
        for each in self.blocks:
            if each.line not in self.errors:
                self.errors[each.line] = self.tried(each)
            if each == block:
                break
        error = self.errors[block.line]
        if error is not None:
            raise error

    def end(self) -> None:
        """End the commands that are left running."""
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                process.wait(WAIT)

    def here(self, text: str) -> str:
        """Replace the addresses on the page with the real ones."""
        for shown, real in self.swaps:
            text = text.replace(shown, real)
        return text

    def there(self, text: str) -> str:
        """Replace the real addresses with those on the page."""
        for shown, real in reversed(self.swaps):
            text = text.replace(real, shown)
        return text

    def tried(self, block: Block) -> BaseException | None:
        try:
            self.do(block)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # raised by run()
            return error
        return None

    def do(self, block: Block) -> None:
        shown = block.directive("shown by") or block.directive("read by")
        if block.directive("names") == "commands":
            check_commands(block.text)
        elif shown:
            SHOWN_OUTPUT[shown](block, self)
        elif block.file:
            self.write(block)
        elif block.kind == "python":
            self.run_python(block)
        elif block.kind == "shell":
            for command in _commands(block.text):
                status, found = self.type(command)
                assert status == 0, f"{command} ended with {status}:\n{found}"
        elif block.kind == "console":
            self.converse(block)
        else:
            raise AssertionError(f"{block.id}: a block of kind {block.kind!r} needs a directive for its test")

    def write(self, block: Block) -> None:
        path = self.where / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        if block.kind == "python":
            compile(block.text, block.file, "exec")
            if is_settings(block.text):
                with self.at_home():
                    validate(self.here(block.text), self.folder)
        before = path.read_text("utf-8") if path.name == "settings.py" and path.exists() else ""
        path.write_text(without_names(before, assigned_names(block.text)) + self.here(block.text), "utf-8")

    def run_python(self, block: Block) -> None:
        code, context = self.here(block.text), block.directive("in")
        with self.at_home():
            if context:
                CONTEXTS[context](code)
            elif is_settings(code):
                validate(code, self.folder)
            else:
                exec(compile(code, block.id, "exec"), self.names)

    def converse(self, block: Block) -> None:
        for command, printed in conversations(block.text):
            if block.directive("left running") is not None:
                self.leave_running(command, printed)
            else:
                status, found = self.type(command)
                assert not printed or shows(printed, found), f"{command} printed\n…{plain(found)[-3000:]}"
                assert status == 0 or "error" in printed.lower(), f"{command} ended with {status}:\n{found}"

    def type(self, command: str) -> tuple[int, str]:
        """Run a command, in the current folder of the shell; return its exit code and output."""
        command = INSTALLED.sub("", command)
        if INSTALLING.match(command) or not command:
            return 0, ""
        note = self.folder / ".where"
        script = f"{self.here(command)}\nstatus=$?\npwd > {note}\nexit $status"
        environment = self.environment(self.commands, self.own)
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.where, env=environment, text=True, timeout=WAIT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        self.where = Path(note.read_text().strip())
        return done.returncode, self.there(done.stdout)

    def leave_running(self, command: str, printed: str) -> None:
        log = self.folder / f".{len(self.running)}.log"
        script = f"exec {self.here(INSTALLED.sub('', command))}"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-c", script], cwd=self.where, env=self.environment(self.own), text=True,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.running.append(process)
        deadline = time.monotonic() + WAIT
        while not shows(_loose(printed), _loose(log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        self.swaps = [*self.swaps, *_ports(printed, log.read_text())]

    @contextlib.contextmanager
    def at_home(self) -> Iterator[None]:
        """Work in the folder and import from it; unload its modules afterwards."""
        before, loaded = Path.cwd(), set(sys.modules)
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        try:
            yield
        finally:
            os.chdir(before)
            sys.path.remove(str(self.folder))
            for name in set(sys.modules) - loaded:
                if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]

    @property
    def own(self) -> Path:
        return Path(sys.executable).parent

    def environment(self, *commands: Path) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("SCRAPY_")}
        return inherited | {
            "PATH": os.pathsep.join([*map(str, commands), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "",
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "no_proxy": "127.0.0.1",
            "NO_PROXY": "127.0.0.1",
        }


def conversations(text: str) -> list[tuple[str, str]]:
    """Split a ``console`` block into commands and the output shown below each."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block begins with a command"
    pairs = [part.partition("\n") for part in parts[1:]]
    return [(command, shown) for command, _, shown in pairs]


def _commands(text: str) -> list[str]:
    joined = textwrap.dedent(text).replace("\\\n", " ")
    return [line for line in joined.split("\n") if line.strip() and not line.lstrip().startswith("#")]


def _loose(printed: str) -> str:
    """Replace port numbers by 0."""
    return re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:0", printed)


def _ports(shown: str, printed: str) -> list[tuple[str, str]]:
    """Pair the addresses on the page with the real ones."""
    address = re.compile(r"http://127\.0\.0\.1:\d+")
    return list(zip(address.findall(shown), address.findall(printed), strict=False))
