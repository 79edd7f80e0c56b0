"""The documents of a corpus: feeds, text files, pages, or folders of them.

The words that a store holds: those in the sketches of the detector ``keywords``.

``dedupcrawl lexicon``: count in how many documents words stand.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass, field
from heapq import nlargest, nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import Bars, out, print_json
from dedupcrawl.detectors.keywords import Keywords
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.page import Page, PageError, ReadOptions, read_page
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.text.features import Features
from dedupcrawl.text.lexicon import built_in, read_lexicon
from dedupcrawl.text.lexicon_file import (
    DocumentFrequencies,
    LexiconFileError,
    LexiconHeader,
    is_language,
    write_counts,
)
from dedupcrawl.text.segmenters import check_segmenter
from dedupcrawl.text.words import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.stores.base import Store
    from dedupcrawl.text.lexicon import Lexicon


_LINES = (".jsonl", ".jl", ".ndjson")
_TYPES = {".txt": "text/plain", ".html": "text/html", ".htm": "text/html"}
_ACCEPTED = f"files that end in {', '.join((*_LINES, *_TYPES))}, packed (.gz) or not, or folders of them"
_READING = ReadOptions(blocks=False)


@dataclass
class DocumentCorpus:
    """Documents in the order of their files; each is read when it is asked for.

    The fields of a line of JSON are joined; ``html`` is read as a page. Without ``fields`` a line's ``html``
    counts, else its ``text``.
    """

    where: Sequence[str]
    fields: Sequence[str] = ()
    unreadable: int = field(default=0, init=False)  #: documents without any text, and pages that are binary

    def __iter__(self) -> Iterator[Page]:
        for path in self._files():
            for page in self._pages(path):
                if page is not None and (page.text or page.rest):
                    yield page
                else:
                    self.unreadable += 1

    def _files(self) -> list[Path]:
        """List the files before the first is read: a wrong name is told at once."""
        return [path for where in self.where for path in _found(where)]

    def _pages(self, path: Path) -> Iterator[Page | None]:
        kind = _suffix(path)
        try:
            if kind in _LINES:
                yield from self._lines(path)
            else:
                yield _read(_unpacked(path), _TYPES[kind])
        except (OSError, EOFError, zlib.error) as error:
            raise DedupError(f"{path}: cannot be read: {error}") from error

    def _lines(self, path: Path) -> Iterator[Page | None]:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield self._page(_object(line, f"{path}, line {number}"), f"{path}, line {number}")

    def _page(self, item: dict[str, Any], place: str) -> Page | None:
        names = self.fields or [name for name in ("html", "text") if item.get(name) is not None][:1]
        values = [(name, item.get(name)) for name in names]
        if not values or all(value is None for _, value in values):
            wanted = " or ".join(self.fields or ("html", "text"))
            raise DedupError(f"{place}: no field {wanted}; it has {', '.join(item) or 'none'} (see --field)")
        texts = [_text(name, value) for name, value in values if value is not None]
        return None if None in texts else Page.from_text("\n".join(filter(None, texts)))


def _found(where: str) -> list[Path]:
    path = Path(where)
    if not path.exists():
        raise DedupError(f"{where}: no such file or folder")
    if path.is_dir():
        found = sorted(
            file for file in path.rglob("*") if file.is_file() and _suffix(file) in (*_LINES, *_TYPES)
        )
    else:
        found = [path] if path.is_file() and _suffix(path) in (*_LINES, *_TYPES) else []
    if not found:
        raise DedupError(f"{where}: no document; accepted are {_ACCEPTED}")
    return found


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _unpacked(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def _object(line: bytes, place: str) -> dict[str, Any]:
    try:
        item = orjson.loads(line)
    except ValueError as error:
        raise DedupError(f"{place}: no JSON: {error}") from error
    if not isinstance(item, dict):
        raise DedupError(f"{place}: a line is a JSON object, not {type(item).__name__}")
    return item


def _text(name: str, value: object) -> str | None:
    """Return the text of a field; lists of texts are joined. None: a page that cannot be read."""
    if name == "html" and isinstance(value, str):
        page = _read(value, "text/html")
        return None if page is None else "\n".join(filter(None, (page.text, page.rest)))
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(body: bytes | str, content_type: str) -> Page | None:
    try:
        return read_page(body, "", content_type=content_type, options=_READING)
    except PageError:
        return None


def is_store(where: str) -> bool:
    """Whether a user means a store, not a file."""
    return "://" in where


def stored_words(url: str, segmenter: str, *, fold_chinese: bool) -> Iterator[tuple[str, ...]]:
    """Yield for each page of a store, in all its namespaces, the keywords that its sketch holds.

    Raises :class:`~dedupcrawl.errors.DedupError` for a namespace whose sketches hold no words, or other words
    than are asked for.
    """
    for namespace in list_namespaces(url):
        with open_existing(url, namespace) as store:
            detector, place = _detector(store, segmenter, fold_chinese)
            for candidate in store.records():
                sketch = candidate.record.sketches[place]
                if sketch:
                    yield detector.words_in(sketch)


def _detector(store: Store, segmenter: str, fold_chinese: bool) -> tuple[Keywords, int]:
    """Return the detector that filled a namespace, and the place of its sketches."""
    about = store.info()
    scheme: dict[str, Any] = json.loads(about.scheme)
    said = f"{about.url} (namespace {about.namespace!r})"
    constants = scheme.get(Keywords.name)
    if constants is None or constants["variant"] == 1:
        raise DedupError(
            f"{said}: the sketches of {', '.join(sorted(scheme))} hold no words; those of the detector "
            "keywords do (variants 2 to 5). Count the feed that the crawl wrote instead, or its pages"
        )
    folded = bool(scheme.get("text", {}).get("fold_chinese"))
    if (constants["segmenter"], folded) != (segmenter, fold_chinese):
        wanted = f"--segmenter {constants['segmenter']}" + " --fold-chinese" * folded
        raise DedupError(f"{said}: its words were cut otherwise; give {wanted}")
    names = [name for name in DETECTORS if name in scheme]
    return Keywords(variant=constants["variant"], count=constants["count"]), names.index(Keywords.name)


lexicon = typer.Typer(help="Count in how many documents words stand.", no_args_is_help=True)

_SHOWN = 12  #: commonest words that are shown, and rarest


@lexicon.command()
def build(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="JSON Lines (a feed) with html or text, text files or pages, one document each, folders of "
            "them, or a store that was filled with the detector keywords.",
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the lexicon goes.")],
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Field of a line that holds its text, instead of html or text; repeatable."
        ),
    ] = None,
    min_documents: Annotated[
        int, typer.Option(min=1, help="Leave out words that stand in fewer documents.")
    ] = 2,
    language: Annotated[str, typer.Option(help="Language of the corpus, e.g. en, zh, th.")] = "",
    segmenter: Annotated[str, typer.Option(help="As DEDUP_SEGMENTER.")] = "jieba",
    fold_chinese: Annotated[bool, typer.Option("--fold-chinese", help="As DEDUP_FOLD_CHINESE.")] = False,
) -> None:
    """Count the words of a corpus, for DEDUP_LEXICON."""
    language = _language(language)
    check_segmenter(segmenter, "--segmenter")
    if not output.absolute().parent.is_dir():
        raise DedupError(f"{output}: cannot be written: its folder does not exist")
    source = DocumentCorpus([where for where in corpus if not is_store(where)], field or ())
    stores = [where for where in corpus if is_store(where)]
    counted = _counted(_documents(source, stores, segmenter, fold_chinese))
    frequencies = counted.frequencies(min_documents)
    if not frequencies:
        raise DedupError(
            f"no word stands in {min_documents} or more of the {counted.documents:,} documents that have text"
        )
    head = LexiconHeader(
        language=language,
        segmenter=segmenter if any(map(is_unspaced, frequencies)) else "",
        fold_chinese=fold_chinese,
        documents=counted.documents,
        words=len(frequencies),
        missed=counted.missed,
    )
    write_counts(output, head, frequencies)
    _report(output, head, source.unreadable)


@lexicon.command()
def info(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A lexicon (default: the built-in one).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write it as JSON.")] = False,
) -> None:
    """Show what a lexicon counts: its documents, its words, the commonest and the rarest of them."""
    try:
        found = read_lexicon(str(file)) if file else built_in()
    except LexiconFileError as error:
        raise DedupError(f"{file}: {error}") from error
    facts = _facts(found)
    idfs = {word: idf for part in found.parts for word, idf in part.idfs.items()}
    common = dict(nsmallest(_SHOWN, idfs.items(), key=lambda pair: (pair[1], pair[0])))
    rare = dict(nlargest(_SHOWN, idfs.items(), key=lambda pair: (pair[1], pair[0])))
    if as_json:
        print_json({**facts, "commonest": common, "rarest": rare})
        return
    table = Table(show_header=False, title=Text(str(file or "built in")))
    for name, value in facts.items():
        table.add_row(name, Text(f"{value:,}" if isinstance(value, int) else str(value) or "-"))
    table.add_row("commonest (idf)", _sample(common))
    table.add_row("rarest (idf)", _sample(rare))
    out().print(table)


def _documents(
    source: DocumentCorpus, stores: Sequence[str], segmenter: str, fold_chinese: bool
) -> Iterator[tuple[str, ...]]:
    """Yield the words of each document."""
    for page in source:
        yield Features(page, fold_chinese).words(segmenter)
    for store in stores:
        yield from stored_words(store, segmenter, fold_chinese=fold_chinese)


def _counted(documents: Iterator[tuple[str, ...]]) -> DocumentFrequencies:
    counted = DocumentFrequencies()
    with Bars("documents") as bars:
        for words in bars.track("counting", documents):
            counted.add(words)
    return counted


def _language(language: str) -> str:
    primary = language.lower().partition("-")[0]
    if not is_language(primary):
        raise SettingError("--language", language, "a code of BCP 47, such as en, zh or th")
    return primary


def _report(output: Path, head: LexiconHeader, unreadable: int) -> None:
    said = f"{output}: {head.words:,} words of {head.documents:,} documents, {output.stat().st_size:,} bytes"
    if unreadable:
        said += f"; {unreadable:,} documents without text left out"
    if head.missed:
        said += f"; a word may stand in up to {head.missed:,} documents more than were counted"
    out().print(Text(said))


def _facts(found: Lexicon) -> dict[str, object]:
    return {
        "language": found.language or ("zh, en" if len(found.parts) > 1 else ""),
        "documents": found.documents,
        "words": len(found),
        "segmenter": found.segmenter,
        "digest": found.digest,
    }


def _sample(idfs: Mapping[str, float]) -> Text:
    return Text("  ".join(f"{word} {idf:.2f}" for word, idf in idfs.items()))
