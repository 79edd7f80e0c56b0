"""``--reader`` of ``dedupcrawl read`` and ``dedupcrawl eval pages``."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl.cli import app
from dedupcrawl.page.signatures import LAYOUT_BYTES
from tests.page.samples import PARAGRAPH, SECOND, article, links

HTML = article(f"<h1>Flood</h1><div>{' '.join(links(4))}</div>")
OWN = "def headline(html, url):\n    return html.partition('<h1>')[2].partition('</h1>')[0]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a page, a page set and a module of readers."""
    (tmp_path / "page.html").write_text(HTML)
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "a.html.gz").write_bytes(gzip.compress(HTML.encode()))
    truth = {"id": "a", "url": "https://a.example/", "text": "Flood"}
    (tmp_path / "truth.jsonl").write_bytes(orjson.dumps(truth))
    (tmp_path / "my_readers.py").write_text(OWN)
    return tmp_path


def run(*args: str) -> str:
    result = CliRunner().invoke(app, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_read_with_any_reader(folder: Path) -> None:
    where = str(folder / "page.html")
    page = orjson.loads(run("read", where, "--reader", "topic", "--json"))
    assert page["text"] == f"{PARAGRAPH}\n{SECOND}\nOther story 1 Other story 2 Other story 3 Other story 4"
    assert [block["reason"] for block in page["blocks"]] == ["topic", "title"]
    assert len(bytes.fromhex(page["layout"])) == LAYOUT_BYTES
    assert "everything" in run("read", where, "--reader", "text", "--blocks")


def test_eval_pages_with_any_reader(folder: Path) -> None:
    figures = {
        name: orjson.loads(run("eval", "pages", str(folder), "--reader", name, "--json"))
        for name in ("blocks", "tests.page.user_readers:headline")
    }
    assert [each["f1"] for each in figures.values()] == [0, 1]


def test_a_reader_in_the_working_directory(folder: Path) -> None:
    """The installed command looks for it there, as ``scrapy`` does."""
    command = [str(Path(sys.executable).with_name("dedupcrawl")), "read", "page.html", "--reader"]
    found = subprocess.run([*command, "my_readers:headline"], cwd=folder, capture_output=True, check=True)
    assert found.stdout == b"Flood\n"
    absent = subprocess.run([*command, "my_readers:absent"], cwd=folder, capture_output=True, check=False)
    assert absent.returncode == 2
    (line,) = absent.stderr.decode().strip().splitlines()
    assert "reader = 'my_readers:absent'" in line
    assert "no attribute 'absent'" in line
