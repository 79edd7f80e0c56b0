"""``dedupcrawl lexicon``: count the documents that contain each word, in a corpus or in a store."""

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

from dedupcrawl.cli.console import ConsoleProgress, facts_table, output_console, print_json, print_line
from dedupcrawl.cli.options import AsJson
from dedupcrawl.detectors.keywords import Keywords
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.page import Page, PageError, ReadOptions, read_page
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.text.features import Features
from dedupcrawl.text.lexicon import (
    DocumentCounts,
    LexiconFileError,
    LexiconHeader,
    built_in,
    is_language,
    read_lexicon,
    write_counts,
)
from dedupcrawl.text.words import check_segmenter, is_unspaced
from dedupcrawl.utils.messages import tr, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.stores.base import Store


_LINES_SUFFIXES = (".jsonl", ".jl", ".ndjson")
_CONTENT_TYPES = {".txt": "text/plain", ".html": "text/html", ".htm": "text/html"}  #: by suffix
_SUFFIXES = (*_LINES_SUFFIXES, *_CONTENT_TYPES)
_ACCEPTED = f"files that end in {', '.join(_SUFFIXES)}, packed (.gz) or not, or folders of them"
_READ_OPTIONS = ReadOptions(blocks=False)
_WORDS_SHOWN = 12  #: of the most frequent words, and of the rarest

lexicon = typer.Typer(help="Count the documents that contain each word.", no_args_is_help=True)


@lexicon.command()
def build(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Files or folders: JSON Lines with html or text, text files, HTML pages (.gz too). "
            "Or the URL of a store that was filled with the detector keywords.",
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")],
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="JSON field with the text, instead of html or text; repeatable."),
    ] = None,
    min_documents: Annotated[int, typer.Option(min=1, help="Leave out words that fewer documents contain.")] = 2,
    language: Annotated[str, typer.Option(help="Language of the corpus, e.g. en, zh, th.")] = "",
    segmenter: Annotated[str, typer.Option(help="Word segmenter, as in DEDUP_SEGMENTER.")] = "jieba",
    fold_chinese: Annotated[
        bool, typer.Option("--fold-chinese", help="As DEDUP_FOLD_CHINESE: read traditional Chinese as simplified.")
    ] = False,
) -> None:
    """Count the words of a corpus and write a file for DEDUP_LEXICON."""
    primary_language = language.lower().partition("-")[0]
    if not is_language(primary_language):
        raise SettingError("--language", language, "a code of BCP 47, such as en, zh or th")
    check_segmenter(segmenter, "--segmenter")
    if not output.absolute().parent.is_dir():
        raise DedupError(f"{output}: cannot be written: its folder does not exist")
    source = DocumentCorpus([where for where in corpus if "://" not in where], field or ())
    stores = [where for where in corpus if "://" in where]
    frequencies = DocumentCounts()
    with ConsoleProgress("documents") as bars:
        for words in bars.track("counting", _documents(source, stores, segmenter, fold_chinese)):
            frequencies.add(words)
    counts = frequencies.frequencies(min_documents)
    if not counts:
        raise DedupError(
            f"no word occurs in {min_documents} or more of the {frequencies.documents:,} documents that have text"
        )
    header = LexiconHeader(
        language=primary_language,
        segmenter=segmenter if any(map(is_unspaced, counts)) else "",
        fold_chinese=fold_chinese,
        documents=frequencies.documents,
        words=len(counts),
        missed=frequencies.missed,
    )
    write_counts(output, header, counts)
    _print_result(output, header, source.unreadable)


@lexicon.command()
def info(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Lexicon file (default: the built-in lexicon).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the documents, the words, and the most frequent and rarest words of a lexicon."""
    try:
        found = read_lexicon(str(file)) if file else built_in()
    except LexiconFileError as error:
        raise DedupError(f"{file}: {error}") from error
    facts: dict[str, object] = {
        "language": found.language or ("zh, en" if len(found.parts) > 1 else ""),
        "documents": found.documents,
        "words": len(found),
        "segmenter": found.segmenter,
        "digest": found.digest,
    }
    idfs = {word: idf for part in found.parts for word, idf in part.idfs.items()}
    common = dict(nsmallest(_WORDS_SHOWN, idfs.items(), key=lambda pair: (pair[1], pair[0])))
    rare = dict(nlargest(_WORDS_SHOWN, idfs.items(), key=lambda pair: (pair[1], pair[0])))
    if as_json:
        print_json({**facts, "commonest": common, "rarest": rare})
        return
    rows = [(tr_sentence(name), f"{v:,}" if isinstance(v, int) else str(v) or "-") for name, v in facts.items()]
    rows += [(tr("commonest (idf)"), _idfs_text(common)), (tr("rarest (idf)"), _idfs_text(rare))]
    output_console().print(facts_table(rows, str(file or tr("built in"))))


def _documents(
    source: DocumentCorpus, stores: Sequence[str], segmenter: str, fold_chinese: bool
) -> Iterator[tuple[str, ...]]:
    """Yield the words of each document."""
    for page in source:
        yield Features(page, fold_chinese).words(segmenter)
    for store in stores:
        yield from _words_in_store(store, segmenter, fold_chinese)


def _print_result(output: Path, header: LexiconHeader, unreadable: int) -> None:
    counts = {"n": f"{header.words:,}", "m": f"{header.documents:,}", "size": f"{output.stat().st_size:,}"}
    text = tr("{file}: {n} words of {m} documents, {size} bytes", file=output, **counts)
    if unreadable:
        text += tr("; {n} documents without text left out", n=f"{unreadable:,}")
    if header.missed:
        text += tr("; a word may occur in up to {n} documents more than were counted", n=f"{header.missed:,}")
    print_line(text)


def _idfs_text(idfs: Mapping[str, float]) -> str:
    return "  ".join(f"{word} {idf:.2f}" for word, idf in idfs.items())


# -- documents in files -----------------------------------------------------------------------


@dataclass
class DocumentCorpus:
    """Iterates over the documents in files, in the order of the files; each is read when it is needed."""

    where: Sequence[str]  #: files and folders
    fields: Sequence[str] = ()  #: JSON fields to join; without any, ``html`` or else ``text``
    unreadable: int = field(default=0, init=False)  #: documents without text, and binary pages

    def __iter__(self) -> Iterator[Page]:
        # All files are listed first, so that a wrong name is reported at once.
        for path in [path for where in self.where for path in _files(where)]:
            for page in self._pages(path):
                if page is not None and (page.text or page.rest):
                    yield page
                else:
                    self.unreadable += 1

    def _pages(self, path: Path) -> Iterator[Page | None]:
        suffix = _suffix(path)
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                if suffix in _CONTENT_TYPES:
                    yield _read(file.read(), _CONTENT_TYPES[suffix])
                    return
                for number, line in enumerate(file, 1):
                    if line.strip():
                        place = f"{path}, line {number}"
                        yield self._page(_parse_line(line, place), place)
        except (OSError, EOFError, zlib.error) as error:
            raise DedupError(f"{path}: cannot be read: {error}") from error

    def _page(self, item: dict[str, Any], place: str) -> Page | None:
        names = self.fields or [name for name in ("html", "text") if item.get(name) is not None][:1]
        values = [(name, item.get(name)) for name in names]
        if not values or all(value is None for _, value in values):
            wanted = " or ".join(self.fields or ("html", "text"))
            raise DedupError(f"{place}: no field {wanted}; it has {', '.join(item) or 'none'} (see --field)")
        texts = [_field_text(name, value) for name, value in values if value is not None]
        return None if None in texts else Page.from_text("\n".join(filter(None, texts)))


def _files(where: str) -> list[Path]:
    path = Path(where)
    if not path.exists():
        raise DedupError(f"{where}: no such file or folder")
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    found = [each for each in paths if each.is_file() and _suffix(each) in _SUFFIXES]
    if not found:
        raise DedupError(f"{where}: no document; accepted are {_ACCEPTED}")
    return found


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _parse_line(line: bytes, place: str) -> dict[str, Any]:
    try:
        item = orjson.loads(line)
    except ValueError as error:
        raise DedupError(f"{place}: no JSON: {error}") from error
    if not isinstance(item, dict):
        raise DedupError(f"{place}: a line is a JSON object, not {type(item).__name__}")
    return item


def _field_text(name: str, value: object) -> str | None:
    """Return the text of a field, with lists joined; None for a page that cannot be read."""
    if name == "html" and isinstance(value, str):
        page = _read(value, "text/html")
        return None if page is None else "\n".join(filter(None, (page.text, page.rest)))
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(body: bytes | str, content_type: str) -> Page | None:
    try:
        return read_page(body, "", content_type=content_type, options=_READ_OPTIONS)
    except PageError:
        return None


# -- words in a store -------------------------------------------------------------------------


def _words_in_store(url: str, segmenter: str, fold_chinese: bool) -> Iterator[tuple[str, ...]]:
    """Yield the keywords of each page in all namespaces of a store, from the sketches."""
    for namespace in list_namespaces(url):
        with open_existing(url, namespace) as store:
            detector, index = _keywords_detector(store, segmenter, fold_chinese)
            for candidate in store.records():
                sketch = candidate.record.sketches[index]
                if sketch:
                    yield detector.words_in(sketch)


def _keywords_detector(store: Store, segmenter: str, fold_chinese: bool) -> tuple[Keywords, int]:
    """Return the detector that filled a namespace, and the index of its sketches in a record."""
    about = store.info()
    scheme: dict[str, Any] = json.loads(about.scheme)
    name = f"{about.url} (namespace {about.namespace!r})"
    constants = scheme.get(Keywords.name)
    if constants is None or constants["variant"] == 1:
        raise DedupError(
            f"{name}: the sketches of {', '.join(sorted(scheme))} hold no words; those of the detector "
            "keywords do (variants 2 to 5). Count the feed that the crawl wrote instead, or its pages"
        )
    is_folded = bool(scheme.get("text", {}).get("fold_chinese"))
    if (constants["segmenter"], is_folded) != (segmenter, fold_chinese):
        options = f"--segmenter {constants['segmenter']}" + " --fold-chinese" * is_folded
        raise DedupError(f"{name}: its texts were segmented in another way; give {options}")
    names = [each for each in DETECTORS if each in scheme]
    return Keywords(variant=constants["variant"], count=constants["count"]), names.index(Keywords.name)
