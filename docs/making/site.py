"""Build the documentation in both languages: ``python docs/making/site.py``. A broken link is an error.

``python docs/making/site.py --renew-blocks`` copies the code blocks of the English pages into their translations, and
leads links of the translations to Chinese pages where these exist. ``--renew-links`` makes links to an entry of an
overview page lead to the section that the entry names.

The Chinese site has every page: ``docs/zh`` where there is a translation, else the English page with a notice. So every
link and the switch of language lead to the same page. Both sites are built by Zensical from ``mkdocs.yml``;
``docs/zh/site.yml`` has what is Chinese about the second one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import yaml
from lxml import html
from markdown.extensions.toc import slugify, unique  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CHINESE = DOCS / "zh"
_HEADING = re.compile(r"^(?P<level>#+) (?P<text>.+)$", re.MULTILINE)
_CODE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
#: An entry of an overview page: an anchor that links lead to, and the section that has its text.
_ENTRY = re.compile(r'<a id="(?P<anchor>[\w-]+)"></a>\[[^\]]+\]\((?P<section>[\w-]+\.md#[\w-]+)\)')
_LINK_TO_PAGE = re.compile(r"\]\((?P<page>[\w./-]+\.md)\b")
_NOT_COPIED = shutil.ignore_patterns("zh", "making", "*.py", "__pycache__")


def main() -> None:
    """Build the site; exit with 1 if something in it is broken."""
    parser = argparse.ArgumentParser(description="Build the documentation in both languages.")
    parser.add_argument("--site-dir", type=Path, default=ROOT / "site", help="folder to write to; it is replaced")
    parser.add_argument(
        "--renew-blocks",
        action="store_true",
        help="copy code blocks into the Chinese pages, and lead their links to Chinese pages; no site",
    )
    parser.add_argument("--renew-links", action="store_true", help="make links lead to sections, not entries; no site")
    options = parser.parse_args()
    if options.renew_links:
        for page in linking():
            page.write_text(relinked(page.read_text("utf-8"), entries()), "utf-8")
    if options.renew_blocks:
        for page, original in translations():
            text = renewed(page.read_text("utf-8"), original.read_text("utf-8"), page.name)
            page.write_text(with_chinese_links(text, page.parent), "utf-8")
    if options.renew_links or options.renew_blocks:
        return
    site: Path = options.site_dir
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        _build(Path(folder) / "en", english(), site)
        _build(Path(folder) / "zh", chinese(), site / "zh")
    _translate_search(site / "zh")
    broken = list(broken_links(site))
    if broken:
        sys.exit("\n".join(["Broken links in the built site:", *broken]))


# -- the two projects ---------------------------------------------------------------------------


def english() -> dict[str, Any]:
    """Return the configuration of the English site."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    config["theme"]["custom_dir"] = str(ROOT / config["theme"]["custom_dir"])
    for each in config["markdown_extensions"]:
        if isinstance(each, dict) and "pymdownx.snippets" in each:
            each["pymdownx.snippets"]["base_path"] = [str(ROOT)]
    return config


def chinese() -> dict[str, Any]:
    """Return the configuration of the Chinese site."""
    config, words = english(), site_words()
    config |= words["config"]
    config["theme"]["language"] = "zh"
    config["plugins"] = [{"search": {"lang": "zh"}}]
    config["nav"] = _in_chinese(config["nav"], words["titles"])
    config["extra"] |= {"other": {"lang": "en", "name": "English", "root": "../"}, "words": words["words"]}
    for each in config["theme"]["palette"]:
        each["toggle"]["name"] = words["titles"][each["toggle"]["name"]]
    return config


def site_words() -> dict[str, Any]:
    """Return the Chinese words of the site that are on no page."""
    words: dict[str, Any] = yaml.safe_load((CHINESE / "site.yml").read_text("utf-8"))
    return words


def _in_chinese(nav: Any, titles: dict[str, str]) -> Any:
    """Translate the titles of a navigation."""
    if isinstance(nav, str):
        return nav
    if isinstance(nav, list):
        return [_in_chinese(each, titles) for each in nav]
    lacking = [title for title in nav if title not in titles]
    if lacking:
        sys.exit(f"docs/zh/site.yml has no Chinese title for {lacking[0]!r}")
    return {titles[title]: _in_chinese(below, titles) for title, below in nav.items()}


def _build(folder: Path, config: dict[str, Any], site: Path) -> None:
    """Run Zensical in a folder of its own: it needs the pages and the site below the configuration."""
    docs = folder / "docs"
    shutil.copytree(DOCS, docs, ignore=_NOT_COPIED)
    if config["theme"].get("language") == "zh":
        for page in sorted(docs.glob("*.md")):
            page.write_text(chinese_page(page.name), "utf-8")
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{folder.name}: {done.stdout}{done.stderr.partition('Traceback')[0]}")
    site.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder / "site", site, dirs_exist_ok=True)


# -- links to entries ---------------------------------------------------------------------------


def entries() -> dict[str, str]:
    """Return the section that each entry of an overview page names: ``{"settings.md#dedup_ttl": "…md#dedup_ttl"}``."""
    return {
        f"{page.name}#{entry['anchor']}": entry["section"]
        for page in sorted(DOCS.glob("*.md"))
        for entry in _ENTRY.finditer(page.read_text("utf-8"))
    }


def relinked(text: str, sections: Mapping[str, str]) -> str:
    """Return a page whose links lead to the sections themselves; ``sections`` is what :func:`entries` returns."""
    link = re.compile(r"(\]\((?:[\w.-]+/)*)([\w-]+\.md#[\w-]+)(?=\))")
    return link.sub(lambda found: found[1] + sections.get(found[2], found[2]), text)


def linking() -> list[Path]:
    """Return the pages and templates that may link to an entry."""
    made = (ROOT / "docs" / "making").glob("*.md.j2")
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md"), *DOCS.rglob("*.md"), *made])


# -- Chinese pages ------------------------------------------------------------------------------


def chinese_page(name: str) -> str:
    """Return a page of the Chinese site: the translation, or the English page with a notice."""
    text = (DOCS / name).read_text("utf-8")
    if not (CHINESE / name).exists():
        title, _, rest = text.partition("\n")
        notice = f'\n!!! note ""\n    {site_words()["notice"]}\n'
        return f"{title}\n{notice}{rest}" if title.startswith("# ") else text
    translated = _with_anchors((CHINESE / name).read_text("utf-8"), anchors(text))
    return translated.replace("](../", "](")


def translations() -> list[tuple[Path, Path]]:
    """Return the Chinese pages, and the English page of each."""
    pages = [(path, DOCS / path.name) for path in sorted(CHINESE.glob("*.md"))]
    return [*pages, (ROOT / "README.zh-CN.md", ROOT / "README.md")]


def renewed(text: str, original: str, name: str) -> str:
    """Return a translation with the code blocks of the original; both must have as many."""
    blocks = [found[0] for found in _CODE.finditer(original)]
    own = len(_CODE.findall(text))
    if own != len(blocks):
        sys.exit(f"{name} has {own} code blocks, and the English page {len(blocks)}: add or remove one first")
    rest = iter(blocks)
    return _CODE.sub(lambda _: next(rest), text)


def with_chinese_links(text: str, folder: Path) -> str:
    """Return a page of this folder, whose links to English pages lead to their translations where these exist."""

    def led(found: re.Match[str]) -> str:
        page = folder / found["page"]
        translation = CHINESE / page.name
        if page.resolve().parent != DOCS or not translation.exists():
            return found[0]
        return f"]({os.path.relpath(translation, folder)}"

    return _LINK_TO_PAGE.sub(led, text)


def headings(text: str) -> list[tuple[int, str]]:
    """Return level and text of the headings of a page, without those in code."""
    return [(len(each["level"]), each["text"]) for each in _HEADING.finditer(_CODE.sub("", text))]


def anchors(text: str) -> list[str]:
    """Return the anchors that the headings of a page get."""
    taken: set[str] = set()
    return [unique(slugify(_plain(heading), "-"), taken) for _, heading in headings(text)]


def _plain(heading: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)


def _with_anchors(text: str, names: list[str]) -> str:
    """Give the headings the anchors of the English page, so that links to them work in both languages."""
    rest = iter(names)
    parts, at = [], 0
    for block in _CODE.finditer(text):
        parts += [_HEADING.sub(lambda found: f"{found[0]} {{#{next(rest)}}}", text[at : block.start()]), block[0]]
        at = block.end()
    parts.append(_HEADING.sub(lambda found: f"{found[0]} {{#{next(rest)}}}", text[at:]))
    return "".join(parts)


def _translate_search(site: Path) -> None:
    """Translate the window of the search, whose words are in a script of Zensical."""
    (script,) = (site / "assets" / "javascripts").glob("bundle.*.js")
    text = script.read_text("utf-8")
    for found, wanted in site_words()["search"].items():
        if found not in text:
            sys.exit(f"{script.name} does not contain {found!r}: update `search` in docs/zh/site.yml")
        text = text.replace(found, wanted)
    script.write_text(text, "utf-8")


# -- what was built -----------------------------------------------------------------------------


def broken_links(site: Path) -> Iterator[str]:
    """Yield the links to files and anchors that are not there. Zensical looks at links between pages only."""
    trees = {path.resolve(): html.parse(str(path), html.HTMLParser(encoding="utf-8")) for path in site.rglob("*.html")}
    anchors_of = {path: {str(each) for each in tree.xpath("//@id | //a/@name")} for path, tree in trees.items()}
    for path, tree in trees.items():
        for link in map(str, tree.xpath("//@href | //@src")):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            missing = parts.fragment and target in anchors_of and unquote(parts.fragment) not in anchors_of[target]
            if missing or not target.exists():
                yield f"{path.relative_to(site.resolve())}: {link}"


if __name__ == "__main__":
    main()
