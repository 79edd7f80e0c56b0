"""Every code block of the documentation, run in its order on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.data import ROOT
from tests.docs.blocks import ELSEWHERE, blocks_of, is_run, pages

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docs.blocks import Block
    from tests.docs.conftest import PageRunners

MOST_NOT_RUN = 30

_BLOCKS = [block for page in pages() for block in blocks_of(page)]


@pytest.mark.parametrize("block", [each for each in _BLOCKS if is_run(each)], ids=lambda block: block.id)
def test_block_runs_as_shown(block: Block, page_runners: PageRunners) -> None:
    page_runners(block.page).run(block)


def test_few_blocks_are_not_run_each_with_a_reason() -> None:
    reasons = {block.id: block.directive("not run") for block in _BLOCKS if block.directive("not run") is not None}
    assert all(reasons.values()), reasons
    assert len(reasons) <= MOST_NOT_RUN, reasons


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_commands_tested_elsewhere_are(page: str, test: str) -> None:
    assert page in (ROOT / test).read_text("utf-8")


def test_unclosed_block_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n", "utf-8")
    with pytest.raises(ValueError):
        blocks_of(page)
