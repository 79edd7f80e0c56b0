"""``dedupcrawl compare``: are two pages copies, and what do they share.

What the detectors see in two pages, whether or not that makes them copies.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import out, print_json
from dedupcrawl.cli.inspect import fetch_page
from dedupcrawl.cli.options import DetectorNames, config_of
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.text.features import Features
from dedupcrawl.text.words import sentences
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.page import Page
    from dedupcrawl.verdict import Verdict


def measure(config: Config, old: Page, new: Page) -> dict[str, dict[str, object] | None]:
    """Return by detector the similarity of two pages, where it measures one, and its figures: plain JSON.

    None: it has no fingerprint of one of the pages. A crawl may never compare the pages at all: that takes a
    common bucket.
    """
    pages = Features(old), Features(new)
    return {detector.name: _measured(detector, *pages) for detector in build_detectors(config)}


def _measured(detector: Detector, old: Features, new: Features) -> dict[str, object] | None:
    earlier, later = detector.fingerprint(old), detector.fingerprint(new)
    if earlier is None or later is None:
        return None
    opinion = detector.assess(later.sketch, earlier.sketch)
    if opinion.silent:
        return None
    similarity = {} if opinion.similarity is None else {"similarity": round(opinion.similarity, 4)}
    return {**similarity, **opinion.figures}


_LONG = 500  #: sentences, from which on those that come again and again only match beside others
_STYLE = {"both": "green", "first": "red", "second": "yellow"}


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="URL or file of the earlier page.")],
    second: Annotated[str, typer.Argument(metavar="B", help="URL or file of the later page.")],
    detector: DetectorNames = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write verdict and passages as JSON.")] = False,
) -> None:
    """Say whether B repeats A, why, and which passages they share."""
    old, new = fetch_page(first), fetch_page(second)
    config = config_of(detector)
    with Deduplicator(config=config) as dedup:
        earlier, verdict = dedup.add(old), dedup.check(new)
    measured = measure(config, old, new)
    passages = list(_passages(sentences(old.text), sentences(new.text)))
    if as_json:
        print_json(
            {
                "earlier": earlier.to_dict(),
                "verdict": verdict.to_dict(),
                "measured": measured,
                "passages": [{"in": who, "text": text} for who, text in passages],
            }
        )
        return
    if earlier.status is Status.UNCHECKED:
        out().print(Text(f"Nothing can repeat {first}: it is unchecked({earlier.reason}).", style="yellow"))
    _show_verdict(out(), verdict)
    if verdict.relation is None:
        _show_measures(out(), measured)
    _show_passages(out(), passages)


def _passages(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Yield ("both" | "first" | "second", passage) in reading order, cut at sentence ends."""
    # "Reply" under each of a thousand posts would make difflib compare each with each, over and over.
    long = max(len(old), len(new)) > _LONG
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=long).get_opcodes():
        if tag == "equal":
            yield "both", "\n".join(old[i1:i2])
            continue
        if i1 < i2:
            yield "first", "\n".join(old[i1:i2])
        if j1 < j2:
            yield "second", "\n".join(new[j1:j2])


def _show_verdict(console: Console, verdict: Verdict) -> None:
    facts = Table(show_header=False, box=None)
    for name, value in verdict.to_dict().items():
        if name == "evidence" and isinstance(value, dict):
            for what, figure in value.items():
                facts.add_row(Text(f"  {what}", style="dim"), Text(str(figure)))
        else:
            facts.add_row(name, Text(str(value), style="bold" if name in ("status", "relation") else ""))
    console.print(facts)


def _show_measures(console: Console, measured: dict[str, dict[str, object] | None]) -> None:
    """Say how far from each other the pages are, where that is no evidence of a verdict."""
    for name, found in measured.items():
        said = ", ".join(f"{what} {figure}" for what, figure in (found or {}).items())
        console.print(Text(f" {name}: {said or 'one of the pages is too short for it'}", style="dim"))


def _show_passages(console: Console, passages: list[tuple[str, str]]) -> None:
    console.rule("passages: in both, only in the first, only in the second")
    for who, text in passages:
        console.print(
            Text.assemble((f"{who:>6} │ ", "dim"), (text.replace("\n", "\n       │ "), _STYLE[who]))
        )
