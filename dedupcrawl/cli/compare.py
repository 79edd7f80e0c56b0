"""``dedupcrawl compare``: the verdict on two pages, the detectors' figures, and the common passages."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len
from rich.padding import Padding
from rich.text import Text

from dedupcrawl.cli.console import facts_table, output_console, print_json, print_line
from dedupcrawl.cli.fetch import DEADLINE, Deadline, fetch_page
from dedupcrawl.cli.options import AsJson, DetectorNames, default_config
from dedupcrawl.decision import Status
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.text.features import Features
from dedupcrawl.text.words import sentences
from dedupcrawl.utils.messages import tr, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Verdict
    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.page import Page


_MAX_SENTENCES = 500  #: of a page, above which difflib ignores sentences that repeat often
_WORDS = frozenset({"status", "relation", "reason"})  #: fields of a verdict whose values are words
_STYLES = {"both": "green", "first": "red", "second": "yellow"}


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="URL or file of the earlier page.")],
    second: Annotated[str, typer.Argument(metavar="B", help="URL or file of the later page.")],
    detector: DetectorNames = None,
    timeout: Deadline = DEADLINE,
    as_json: AsJson = False,
) -> None:
    """Show whether page B duplicates page A, why, and which passages they share."""
    old, new = (fetch_page(where, seconds=timeout) for where in (first, second))
    config = default_config(detector)
    with Deduplicator(config=config) as dedup:
        earlier, verdict = dedup.add(old), dedup.check(new)
    measured = measure_pair(config, old, new)
    passages = list(_passages(sentences(old.text), sentences(new.text)))
    if as_json:
        print_json(
            {
                "earlier": earlier.to_dict(),
                "verdict": verdict.to_dict(),
                "measured": measured,
                "passages": [{"in": page, "text": text} for page, text in passages],
            }
        )
        return
    if earlier.status is Status.UNCHECKED:
        told = tr("Nothing can repeat {page}: it is unchecked({reason}).", page=first, reason=earlier.reason)
        print_line(told, "yellow")
    console = output_console()
    console.print(Padding(facts_table(_verdict_rows(verdict), framed=False), (0, 0, 0, 1)))
    if verdict.relation is None:
        for name, found in measured.items():
            figures = ", ".join(f"{figure} {value}" for figure, value in (found or {}).items())
            told = figures or tr("one of the pages is too short for it")
            print_line(f" {name}: {told}", "dim")
    console.rule(tr("passages: in both, only in the first, only in the second"))
    names = {"both": tr("both"), "first": tr("first"), "second": tr("second")}
    columns = max(map(cell_len, names.values()))
    for page, text in passages:
        margin = " " * (columns - cell_len(names[page])) + names[page]
        lines = text.replace("\n", f"\n{' ' * columns} │ ")
        console.print(Text.assemble((f"{margin} │ ", "dim"), (lines, _STYLES[page])))


def measure_pair(config: Config, old: Page, new: Page) -> dict[str, dict[str, object] | None]:
    """Return the similarity and the figures of two pages by detector; None for one without fingerprints."""
    pages = Features(old), Features(new)
    return {detector.name: _measure(detector, *pages) for detector in build_detectors(config)}


def _measure(detector: Detector, old: Features, new: Features) -> dict[str, object] | None:
    earlier, later = detector.fingerprint(old), detector.fingerprint(new)
    if earlier is None or later is None:
        return None
    assessment = detector.assess(later.sketch, earlier.sketch)
    if assessment.silent:
        return None
    similarity = {} if assessment.similarity is None else {"similarity": round(assessment.similarity, 4)}
    return {**similarity, **assessment.figures}


def _passages(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Yield ("both" | "first" | "second", passage) in reading order; passages end where sentences end."""
    # A sentence that occurs a thousand times in both pages makes difflib compare a million pairs.
    is_long = max(len(old), len(new)) > _MAX_SENTENCES
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=is_long).get_opcodes():
        if tag == "equal":
            yield "both", "\n".join(old[i1:i2])
            continue
        if i1 < i2:
            yield "first", "\n".join(old[i1:i2])
        if j1 < j2:
            yield "second", "\n".join(new[j1:j2])


def _verdict_rows(verdict: Verdict) -> Iterator[tuple[str, Text]]:
    for name, value in verdict.to_dict().items():
        if name == "evidence" and isinstance(value, dict):
            yield from ((f"  {figure}", Text(str(each))) for figure, each in value.items())
        else:
            told = tr_sentence(str(value)) if name in _WORDS else str(value)
            yield name, Text(told, "bold" if name in ("status", "relation") else "")
