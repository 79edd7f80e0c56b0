"""Failures from outside (killed workers, full disks, interrupts): no run ends as a success."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.batch.fingerprinting import write_fingerprints
from dedupcrawl.batch.workdir import Workdir
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.utils.resources import UNFINISHED, atomic_output
from tests.batch.corpus import Batch, lines, page, split, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 600.0  #: seconds that a busy machine may take
PART = 40  #: pages


def unfinished(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(UNFINISHED)]


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Readers of the user's own: one ends its process, one waits, behind the first part, for a sign."""
    module = f"""
import os, signal, time
from functools import partial
from pathlib import Path

def dying(html, url):
    if url.endswith("/7"):
        os.kill(os.getpid(), signal.SIGKILL)
    return html

def slow(html, url):
    folder = Path({str(tmp_path)!r})
    (folder / ("called-" + str(os.getpid()))).touch()
    end = time.monotonic() + {PATIENCE}
    while int(url.rpartition("/")[2]) >= {PART} and not (folder / "go").exists() and time.monotonic() < end:
        time.sleep(0.01)
    return html
"""
    name = f"readers_{uuid.uuid4().hex}"  # another module for each test: this process keeps what it has imported
    (tmp_path / f"{name}.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def html_page(number: int) -> dict[str, Any]:
    row = page(number, "a")
    return {"url": row["url"], "html": f"<p>{row['text']}</p>" + " " * 20_000}


def test_what_a_worker_complains_of_is_what_a_user_reads(batch: Batch, readers: str) -> None:
    """A reader that only this process can import."""
    where = split([html_page(number) for number in range(3)], batch.folder / "in")
    config = Config(reader=f"{readers}.slow")
    (batch.folder / f"{readers}.py").unlink()
    with pytest.raises(SettingError, match=r"reader = '.*\.slow' is not accepted: .*cannot be imported"):
        batch.run(where, workers=2, config=config)


def test_a_worker_that_is_killed_ends_the_run(batch: Batch, readers: str) -> None:
    where = split([html_page(number) for number in range(9)], batch.folder / "in")
    with pytest.raises(DedupError, match=r"part-\d.jsonl, rows from 0 on: .*was killed \(maybe for lack of memory"):
        batch.run(where, workers=2, config=Config(reader=f"{readers}.dying"))
    assert not (batch.folder / "out" / "summary.json").exists()
    assert unfinished(batch.folder / "out") == []


COMMAND = [sys.executable, "-c", "from dedupcrawl.cli import main; main()", "batch"]


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{folder}"}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_interrupted_continues_later(batch: Batch, readers: str, how: signal.Signals) -> None:
    """Ctrl-C is sent to all processes; a kill only to the first one, and the others end after it."""
    rows = [html_page(number) for number in range(4 * PART)]
    split(rows, batch.folder / "in", 4)
    arguments = ("in", "--out", "out", "--set", f"reader={readers}.slow", "--workers", "2")
    process = started(batch.folder, *arguments)
    wait_for(Workdir(batch.folder / "out").part_state("part-0.jsonl").exists)
    workers = [int(path.name.partition("-")[2]) for path in batch.folder.glob("called-*")]
    if how is signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.kill()
    (batch.folder / "go").touch()
    _, said = process.communicate(timeout=PATIENCE)
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert said.strip() == "error: interrupted; run the same command again to continue"
        assert unfinished(batch.folder / "out") == []
    for worker in workers:
        wait_for(partial(ended, worker))
    assert not (batch.folder / "out" / "summary.json").exists()
    summary = batch.run(batch.folder / "in", config=Config(reader=f"{readers}.slow"))
    assert 0 < summary["fingerprinted"] < summary["pages"] == len(rows)
    assert [row["url"] for row in rows] == batch.kept()
    assert unfinished(batch.folder / "out") == []


def ended(process: int) -> bool:
    """Whether a process is gone, or waits for nothing but to be buried."""
    try:
        return "(zombie)" in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True


def test_a_full_disk_ends_the_run_and_nothing_is_half_written(batch: Batch) -> None:
    """The system lets no file grow beyond a bound: the input is copied only as far as that."""
    split([page(number, "a") for number in range(300)], batch.folder / "in", 2)
    batch.run(batch.folder / "in")
    size = (batch.folder / "out" / "part-1.jsonl").stat().st_size
    code = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size - 1000}, {size - 1000}))
sys.argv = ["dedupcrawl", "batch", "in", "--out", "small", "--workers", "1"]
from dedupcrawl.cli import main
main()
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=batch.folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert process.returncode == 2
    assert "cannot be written: File too large" in process.stderr
    small = batch.folder / "small"
    assert unfinished(small) == []
    assert not (small / "summary.json").exists()
    for path in small.glob("*.jsonl"):
        assert path.read_bytes() == (batch.folder / "out" / path.name).read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
def test_a_disk_that_is_full_from_the_beginning(batch: Batch) -> None:
    small = batch.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        where = split([page(number, "a") for number in range(300)], batch.folder / "in", 2)
        with pytest.raises(DedupError, match=r"cannot be written: .*[Nn]o space left"):
            batch.run(where, out="small")
        assert not (small / "summary.json").exists()
        assert unfinished(small) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_what_was_there_stays_until_the_new_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "a.txt"
    with atomic_output(target) as path:
        path.write_text("old")
    with pytest.raises(DedupError, match=r"a.txt: cannot be written: No space left on device"):
        fill_up(target)
    assert target.read_text() == "old"
    assert unfinished(tmp_path) == []


def fill_up(target: Path) -> None:
    with atomic_output(target) as path:
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_that_changes_while_it_is_read_is_noticed(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    job = batch.job(path)

    def appending(*how: Any) -> Any:
        made = write_fingerprints(*how)
        with path.open("ab") as file:
            file.write(b'{"url": "x", "text": "y"}\n')
        return made

    monkeypatch.setattr("dedupcrawl.batch.local_engine.write_fingerprints", appending)
    with pytest.raises(DedupError, match="has changed since it was fingerprinted"):
        batch.run(path)
    assert not Workdir(job.out).output("a.jsonl").exists()
    monkeypatch.undo()
    batch.run(path)
    assert len(lines(job.out / "a.jsonl")) == 2


def test_an_input_that_may_not_be_read(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    split([page(number, "a") for number in range(4)], batch.folder / "in", 2)
    from dedupcrawl.batch.formats.jsonlines import JsonLinesFormat

    through = JsonLinesFormat.chunks

    def refused(self: JsonLinesFormat, part: Any, fields: Any) -> Any:
        if part.number == 0:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return through(self, part, fields)

    monkeypatch.setattr(JsonLinesFormat, "chunks", refused)
    with pytest.raises(DedupError, match=r"part-0.jsonl: cannot be read: Permission denied"):
        batch.run(batch.folder / "in")
    summary = batch.run(batch.folder / "in", skip_bad=True)
    assert (summary["pages"], summary["bad"]["broken"]) == (2, 1)
    assert batch.kept() == ["https://sa.example/2", "https://sa.example/3"]
