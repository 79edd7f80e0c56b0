"""Why a page is unchecked, in a sentence."""

from __future__ import annotations

import re

from dedupcrawl.explaining.remarks import REASONS
from tests.data import ROOT


def test_every_reason_that_is_documented_has_a_sentence() -> None:
    page = (ROOT / "docs" / "verdict.md").read_text("utf-8")
    table = page.partition("## Reason\n")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE))
    assert documented == set(REASONS)
