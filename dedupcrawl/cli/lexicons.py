"""``dedupcrawl lexicon``: count in how many documents words stand."""

from __future__ import annotations

from heapq import nlargest, nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.corpora import Corpus
from dedupcrawl.cli.progress import Bars
from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.cli.stored import is_store, stored_words
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.text.counting import DocumentFrequencies
from dedupcrawl.text.features import Features
from dedupcrawl.text.lexicon import built_in, read_lexicon
from dedupcrawl.text.lexicon_file import Head, LexiconFileError, is_language, write_counts
from dedupcrawl.text.segmenters import check_segmenter
from dedupcrawl.text.words import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.text.lexicon import Lexicon

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
    source = Corpus([where for where in corpus if not is_store(where)], field or ())
    stores = [where for where in corpus if is_store(where)]
    counted = _counted(_documents(source, stores, segmenter, fold_chinese))
    frequencies = counted.frequencies(min_documents)
    if not frequencies:
        raise DedupError(
            f"no word stands in {min_documents} or more of the {counted.documents:,} documents that have text"
        )
    head = Head(
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
    source: Corpus, stores: Sequence[str], segmenter: str, fold_chinese: bool
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


def _report(output: Path, head: Head, unreadable: int) -> None:
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
