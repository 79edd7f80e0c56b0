"""The browser fixture detects errors, requests, overflow and accessibility violations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser import PHONE, browsing

if TYPE_CHECKING:
    from pathlib import Path

_BAD = """<!doctype html><html lang="en"><title>x</title><body style="width:2000px">
<img src="http://127.0.0.1:9/none.png"><script>throw new Error("scripted")</script></body></html>"""


def test_a_bad_page_is_seen_to_be_bad(tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text(_BAD)
    with browsing(PHONE) as tab:
        tab.open(file)
        assert any("scripted" in error for error in tab.errors)
        assert tab.requests == ["http://127.0.0.1:9/none.png"]
        assert [each.split(":")[0] for each in tab.grave()] == ["image-alt"]
        assert tab.is_wider_than_screen()
