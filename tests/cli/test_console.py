"""Output in a file or a pipe: no word is broken, so that a URL can be copied and searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding

from dedupcrawl.cli.console import facts_table, output_console, table_console

if TYPE_CHECKING:
    import pytest

URL = "https://news.example/" + "a-very-long-path/" * 20


def test_a_url_in_a_table_is_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    output_console().print(facts_table([("page", URL), ("text", "word " * 60)]))
    table_console().print(Padding(facts_table([("page", URL)], framed=False), (0, 0, 0, 1)))
    output_console().print(facts_table([("a name of several words", "…"), ("page", URL)], framed=False))
    written = capsys.readouterr().out
    assert written.count(URL) == 3


def test_a_table_without_long_words_keeps_its_width(capsys: pytest.CaptureFixture[str]) -> None:
    console = output_console(100)
    console.print(facts_table([("page", URL)]))
    console.print(facts_table([("text", "word " * 60)]))
    assert max(map(len, capsys.readouterr().out.split("┘")[1].splitlines()), default=0) <= 100
