"""A corpus for the batch mode from Debian's documentation: ``python -m benchmarks.corpora [PAGES]``.

``apt-get download`` fetches the packages into ``--cache`` (without root; nothing is installed), and their
pages are read like any others. Long pages are cut at paragraphs into sections of about the length of an
article. Two thirds of a corpus are unchanged sections, in English and Chinese. The others reprint one of
these: unchanged, with a line of the reprinting site, a passage removed, some words changed, or changed so
much that they are no copies. If Debian has too few sections, more are shuffled from paragraphs of three
sections.

Each line: ``url``, ``text``, ``language`` (``en`` or ``zh``), ``origin`` (number of the line that it
reprints, or its own) and ``edit``.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import orjson

from dedupcrawl import read_page
from dedupcrawl.page import PageError, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENGLISH = (
    "openjdk-17-doc linux-doc-6.1 libboost1.74-doc postgresql-doc-15 python3.11-doc qtbase5-doc-html "
    "libreoffice-help-en-us erlang-doc"
)
CHINESE = (
    "libreoffice-help-zh-cn libreoffice-help-zh-tw manpages-zh debian-reference-zh-cn debian-faq-zh-cn "
    "maint-guide-zh-cn debian-handbook linux-doc-6.1"
)
CACHE = Path(".benchmarks")
LENGTHS = {"en": 1800, "zh": 600}  #: minimum characters of a section
LEAST = {"en": 400, "zh": 150}  #: minimum characters of a page
REPRINTED = 0.34  #: of all pages
_HAN = re.compile(r"[\u4e00-\u9fff]")
_MACRO = re.compile(r"^[.'](?:SH|SS|TP|PP|IP|B|I|BR|BI|IR|RB|RI|IB)? ?|\\f[A-Z]|\\[&|^]|^\.\\\".*$", re.MULTILINE)


# -- fetching and reading -----------------------------------------------------------------------


def fetch(package: str, cache: Path) -> Path:
    """Return the folder of an unpacked package; raise RuntimeError if apt has none."""
    folder = cache / "packages" / package
    if not folder.is_dir():
        downloads = cache / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        _run(["apt-get", "download", package], downloads)
        found = next(downloads.glob(f"{package}_*.deb"))
        folder.parent.mkdir(exist_ok=True)
        _run(["dpkg-deb", "-x", str(found.absolute()), str(folder.absolute())], downloads)
    return folder


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")


def sections_of(path: Path) -> list[tuple[str, str]]:
    """Read a page and cut it; return languages and texts."""
    text = _manual(path) if path.suffix == ".gz" else _page(path)
    language = "zh" if len(_HAN.findall(text)) > 0.25 * len(text) else "en"
    if language == "en" and len(_HAN.findall(text)) > 0.02 * len(text):
        return []
    return [(language, part) for part in _cut(text, LENGTHS[language]) if len(part) >= LEAST[language]]


def _page(path: Path) -> str:
    try:
        return read_page(path.read_bytes(), "", options=ReadOptions(blocks=False)).text
    except (PageError, OSError):
        return ""


def _manual(path: Path) -> str:
    """Return the text of a manual page without its macros."""
    try:
        source = gzip.decompress(path.read_bytes()).decode()
    except (OSError, UnicodeDecodeError):
        return ""
    return re.sub(r"\n(?=\S)", " ", _MACRO.sub("", source).replace("\\-", "-"))


def _cut(text: str, length: int) -> Iterator[str]:
    part: list[str] = []
    for paragraph in text.split("\n"):
        part.append(paragraph)
        if sum(map(len, part)) >= length:
            yield "\n".join(part)
            part = []
    yield "\n".join(part)


def originals(packages: Sequence[str], cache: Path, language: str) -> list[str]:
    """Return all distinct sections; the pages are read only once and then cached."""
    path = cache / f"sections-{language}.jsonl"
    if not path.exists():
        texts = _read(packages, cache, language)
        path.write_bytes(b"\n".join(map(orjson.dumps, texts)))
    return [orjson.loads(line) for line in path.read_bytes().split(b"\n")]


def _read(packages: Sequence[str], cache: Path, language: str) -> list[str]:
    paths = [
        path
        for package in packages
        for path in sorted(fetch(package, cache).rglob("*"))
        if path.is_file() and (path.suffix == ".html" or (path.suffix == ".gz" and "zh" in str(path)))
    ]
    with ProcessPoolExecutor() as pool:
        found = pool.map(sections_of, paths, chunksize=64)
        return list(dict.fromkeys(text for parts in found for known, text in parts if known == language))


def shuffled(texts: Sequence[str], rng: Random) -> str:
    """Build a section from paragraphs of three others, about a third of each."""
    parts: list[str] = []
    for text in rng.sample(texts, 3):
        paragraphs = text.split("\n")
        rng.shuffle(paragraphs)
        wanted, length = len(text) / 3, 0
        while paragraphs and length < wanted:
            parts.append(paragraphs.pop())
            length += len(parts[-1])
    rng.shuffle(parts)
    return "\n".join(parts)


# -- reprints -----------------------------------------------------------------------------------


def credited(text: str, language: str, rng: Random) -> str:
    """Add the line of a reprinting site."""
    name = "".join(rng.choices("abcdefghij", k=8))
    line = (
        f"(来源:{name} 网, 编辑 {rng.randrange(999)})" if language == "zh" else f"Source: {name} news, {name}.example"
    )
    return f"{line}\n{text}" if rng.random() < 0.5 else f"{text}\n{line}"


def shortened(text: str, _language: str, rng: Random) -> str:
    """Remove a passage of at most a twentieth."""
    size = max(1, round(len(text) * rng.uniform(0.01, 0.05)))
    start = rng.randrange(max(1, len(text) - size))
    return text[:start] + text[start + size :]


def reworded(text: str, language: str, rng: Random) -> str:
    """Change up to three words."""
    words = text.split(" ") if language == "en" else list(text)
    for _ in range(rng.randint(1, 3)):
        words[rng.randrange(len(words))] = "改" if language == "zh" else "changed"
    return (" " if language == "en" else "").join(words)


def typeset(text: str, language: str, rng: Random) -> str:
    """Change line breaks and capitals."""
    lines = text.replace("\n", " \n ") if rng.random() < 0.5 else text.replace("\n", "  ")
    return lines.upper() if language == "en" and rng.random() < 0.3 else lines


def excerpt(text: str, _language: str, rng: Random) -> str:
    """Quote a part; not a copy."""
    return text[: round(len(text) * rng.uniform(0.3, 0.6))]


def rewritten(text: str, _language: str, rng: Random) -> str:
    """Remove a quarter and reorder the rest; not a copy."""
    middle = rng.randrange(len(text) // 4, len(text) // 2)
    return text[middle:] + "\n" + text[: middle - len(text) // 4]


def unchanged(text: str, _language: str, _rng: Random) -> str:
    """Return it unchanged."""
    return text


EDITS = (unchanged, credited, shortened, reworded, typeset, excerpt, rewritten)
WEIGHTS = (25, 25, 12, 15, 13, 6, 4)


def pages(count: int, cache: Path, chinese: float = 0.3) -> Iterator[dict[str, object]]:
    """Build a corpus; it is deterministic for the same packages."""
    rng = Random(count)
    sources = {"en": originals(ENGLISH.split(), cache, "en"), "zh": originals(CHINESE.split(), cache, "zh")}
    for texts in sources.values():
        rng.shuffle(texts)
    taken = dict.fromkeys(sources, 0)
    lines: list[tuple[str, str]] = []
    for number in range(count):
        if lines and rng.random() < REPRINTED:
            origin = rng.randrange(len(lines))
            language, source = lines[origin]
            edit = rng.choices(EDITS, WEIGHTS)[0]
            text, name = edit(source, language, rng), edit.__name__
        else:
            language = "zh" if rng.random() < chinese else "en"
            texts, at = sources[language], taken[language]
            text = texts[at] if at < len(texts) else shuffled(texts, rng)
            name, origin = "original" if at < len(texts) else "shuffled", number
            taken[language] += 1
        lines.append((language, text))
        url = f"https://site{rng.randrange(500)}.example/{number}.html"
        yield {"url": url, "text": text, "language": language, "origin": origin, "edit": name}


def corpus(count: int, cache: Path = CACHE) -> Path:
    """Return a JSON Lines file with this number of pages; build it if it does not exist."""
    path = cache / f"pages-{count}.jsonl"
    if not path.exists():
        part = path.with_suffix(".part")
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as out:
            for page in pages(count, cache):
                out.write(orjson.dumps(page) + b"\n")
        part.rename(path)
    return path


def main() -> int:
    """Build a corpus and print its composition."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=int, nargs="?", default=50_000)
    parser.add_argument("--cache", type=Path, default=CACHE)
    given = parser.parse_args()
    path = corpus(given.pages, given.cache)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
