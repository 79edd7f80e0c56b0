"""What changes when the project is published: where it is, and how it is installed.

``[project.urls]`` of ``pyproject.toml`` has the addresses, with OWNER in place of an account. Change them there, set
``IS_PUBLISHED`` once the package is on PyPI, and run ``python docs/making/publishing.py``: it writes both into all
other files. Extras need no change: ``pip install 'dedupcrawl[batch]'`` also completes an installation from a checkout.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
IS_PUBLISHED = False  #: whether ``pip install dedupcrawl`` finds the package

#: Of each page, how it says where the package is installed from: a checkout, and PyPI.
WORDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "README.md": (
        (
            "Install it beside Scrapy (≥ 2.18), from a checkout of this repository:",
            "Install it beside Scrapy (≥ 2.18):",
        ),
        ("\npip install .\n", "\npip install dedupcrawl\n"),
    ),
    "README.zh-CN.md": (
        ("与 Scrapy（≥ 2.18）装在一起，在本仓库目录中执行：", "与 Scrapy（≥ 2.18）装在一起："),
        ("\npip install .\n", "\npip install dedupcrawl\n"),
    ),
    "docs/index.md": (
        ("Install it next to Scrapy, from a checkout of the repository:", "Install it next to Scrapy:"),
        ("\npip install .\n", "\npip install dedupcrawl\n"),
    ),
    "docs/zh/index.md": (
        ("在仓库目录中安装，与 Scrapy 装在同一环境里：", "与 Scrapy 装在同一环境里："),
        ("\npip install .\n", "\npip install dedupcrawl\n"),
    ),
    "docs/tutorial.md": (
        ("\npip install /path/to/dedupcrawl\n", "\npip install dedupcrawl\n"),
        ("`/path/to/dedupcrawl` is a checkout of its repository. Scrapy is installed too.", "Scrapy is installed too."),
    ),
    "docs/zh/tutorial.md": (
        ("\npip install /path/to/dedupcrawl\n", "\npip install dedupcrawl\n"),
        ("`/path/to/dedupcrawl` 是代码仓库所在的目录。Scrapy 会一并装好。", "Scrapy 会一并装好。"),
    ),
}
#: Files with the address of the repository.
ADDRESSED = ("CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml", "mkdocs.yml", "SECURITY.md", "CONTRIBUTING.md")
_repository = re.compile(r"https://github\.com/[\w.-]+/dedupcrawl(?![\w.-])")


def repository() -> str:
    """Return the address of the repository, without a slash at its end."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    address: str = project["urls"]["Source"]
    return address


def renewed(page: str, text: str, *, is_published: bool = IS_PUBLISHED) -> str:
    """Return the text of a file with the address of the repository and the command that installs the package.

    Args:
        page: path of the file, relative to the repository.
        text: what it contains.
        is_published: whether the package is on PyPI.

    Raises:
        ValueError: the page has neither wording of a command.
    """
    for wordings in WORDINGS.get(page, ()):
        found = [wording for wording in sorted(wordings, key=len, reverse=True) if wording in text]
        if not found:
            raise ValueError(f"{page} has neither of {wordings}")
        text = text.replace(found[0], wordings[is_published])  # the longer one may contain the other
    return _repository.sub(repository(), text) if page in ADDRESSED else text


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file that this module writes."""
    for page in sorted({*WORDINGS, *ADDRESSED}):
        path = ROOT / page
        if path.exists():
            yield page, path.read_text("utf-8")


def main() -> None:
    """Write all files."""
    for page, text in pages():
        (ROOT / page).write_text(renewed(page, text), "utf-8")


if __name__ == "__main__":
    main()
