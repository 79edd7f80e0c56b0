from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dedupcrawl.errors import SettingError
from dedupcrawl.page import ReadOptions, read_page


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"link_density_noise": 1.1}, "link_density_noise"),
        ({"link_density_noise": 0.2}, "link_density_noise"),
        ({"link_density_content": -0.1}, "link_density_content"),
        ({"link_run": -1}, "link_run"),
        ({"max_bytes": 0}, "max_bytes"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(SettingError, match=name) as caught:
        ReadOptions(**changes)
    assert str(changes[name]) in str(caught.value)


def test_blocks_may_be_left_out() -> None:
    html = "<p>The ferry was late again, and nobody on the pier was surprised.</p>"
    with_blocks, without = read_page(html), read_page(html, options=ReadOptions(blocks=False))
    assert with_blocks.blocks
    assert without == dataclasses.replace(with_blocks, blocks=())
