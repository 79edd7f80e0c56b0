"""What a newcomer sees first, in both languages: what it does, how it is installed and switched on, what it gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.data import ROOT
from tests.docs.blocks import blocks_of

if TYPE_CHECKING:
    from pathlib import Path

#: Pages, and the names of their pictures for light and dark.
PAGES = {
    "README.md": ("report-top", "report-top-dark"),
    "README.zh-CN.md": ("report-top.zh", "report-top-dark.zh"),
    "docs/index.md": ("report-top", "report-top-dark"),
    "docs/zh/index.md": ("report-top.zh", "report-top-dark.zh"),
}
READMES = pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
ALL = pytest.mark.parametrize("page", PAGES)


def beginning(page: str) -> str:
    """Return what stands before the second heading."""
    return re.split(r"^## ", (ROOT / page).read_text("utf-8"), maxsplit=1, flags=re.MULTILINE)[0]


@READMES
def test_a_readme_opens_with_the_commands_for_the_demo_and_the_tests(page: str) -> None:
    first = blocks_of(ROOT / page)[0]
    assert [line.split("  ")[0] for line in first.text.splitlines()] == ["make demo", "make test"]
    assert first.line <= 12


@ALL
def test_a_page_opens_with_what_it_does_how_to_install_it_and_three_settings(page: str) -> None:
    text = beginning(page)
    assert "[Scrapy](https://scrapy.org)" in text.split("\n")[2]
    assert re.search(r"^pip install (\.|dedupcrawl)$", text, re.MULTILINE)
    (settings,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [line.split(" = ")[0] for line in settings.splitlines()] == ["ADDONS", "DEDUP_ACTION", "DEDUP_REPORT"]


@ALL
def test_a_page_opens_with_a_report_that_is_dark_in_the_dark(page: str) -> None:
    light, dark = (ROOT / "docs" / "pictures" / f"{name}.webp" for name in PAGES[page])
    text = beginning(page)
    if page.startswith("README"):
        assert f'<source media="(prefers-color-scheme: dark)" srcset="docs/pictures/{dark.name}">' in text
        assert f'src="docs/pictures/{light.name}">' in text
    else:
        assert f"pictures/{light.name}#only-light)" in text
        assert f"pictures/{dark.name}#only-dark)" in text
    with Image.open(light) as bright, Image.open(dark) as dim:
        assert bright.size == dim.size
        assert brightness(bright) > 0.8
        assert brightness(dim) < 0.3


def brightness(picture: Image.Image) -> float:
    """Return the mean brightness, from 0 (black) to 1 (white)."""
    small = picture.convert("L").resize((1, 1), Image.Resampling.BOX)
    return float(small.tobytes()[0]) / 255


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda path: path.name)
def test_a_diagram_has_a_dark_colour_for_each_light_one(picture: Path) -> None:
    text = picture.read_text("utf-8")
    if picture.name == "icon.svg":
        assert "<style>" not in text  # browsers show it on their own background
        return
    style = text[text.index("<style>@media (prefers-color-scheme: dark)") : text.index("</style>")]
    used = set(re.findall(r'(?:fill|stroke)="#\w+"', text.replace(style, "")))
    assert {each for each in used if f"[{each}]" not in style} == set()
