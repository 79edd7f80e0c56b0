"""``dedupcrawl explain``: why a page got its verdict, and which setting would change it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupcrawl.cli.explainscreen import show
from dedupcrawl.cli.fetching import fetch_body
from dedupcrawl.cli.options import Assignments, DetectorNames, assignments_of
from dedupcrawl.cli.progress import Bars
from dedupcrawl.cli.project import project_here
from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.cli.storing import only_namespace
from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.evaluation.contestants import assigned
from dedupcrawl.explaining.explainer import Explainer, Subject
from dedupcrawl.explaining.explanation import Then
from dedupcrawl.explaining.pairing import Side
from dedupcrawl.explaining.premises import Premises, Source
from dedupcrawl.explaining.recovering import Recovered, recovered
from dedupcrawl.filing import without_fragment
from dedupcrawl.page.model import Page
from dedupcrawl.report.ledger import Ledger
from dedupcrawl.stores import open_existing
from dedupcrawl.stores.redis.address import hide_password
from dedupcrawl.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.report.ledger import Row

_MANY = 5000  #: records of a store, from which on looking at all of them takes time


def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page whose verdict is in question.")],
    *,
    store: Annotated[
        str,
        typer.Option(
            metavar="STORE", help="URL of the store, as in DEDUP_STORE: lmdb://PATH, redis://HOST/DB"
        ),
    ],
    namespace: Annotated[
        str | None, typer.Option(help="Of the store: the name of a spider (default: the only one).")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="HTML of the page, so that it is not fetched."),
    ] = None,
    other: Annotated[
        str,
        typer.Option(metavar="URL|FILE", help="Hold it against this page, not the one that it relates to."),
    ] = "",
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="LEDGER", help="Ledger of a run: its verdict at that time, and the text it saw."
        ),
    ] = None,
    detector: DetectorNames = None,
    assignments: Assignments = None,
    project: Annotated[
        bool,
        typer.Option("--project", help="Take DEDUP_* of the Scrapy project around as the configuration."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Look only under shared keys, not at every record of the store.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write everything as JSON.")] = False,
) -> None:
    """Say why a page got its verdict: whom it met, what each detector says, which setting would change it.

    A page that the store does not hold is fetched, and judged as a crawl would judge it now.
    """
    base, named = project_here() if project else (Config(), None)
    where = namespace or named or only_namespace(store)
    premises = _premises(store, where, base, detector, assignments, project=project)
    with ExitStack() as stack:
        dedup = stack.enter_context(Deduplicator(store, where, config=premises.config))
        ledger = stack.enter_context(Ledger.open(run)) if run else None
        subject = _subject(dedup, url, file, ledger)
        against = _side(dedup, other) if other else None
        tick = None if quick else _tick(stack, dedup)
        found = Explainer(premises, dedup.store, tick).explain(subject, against)
    if as_json:
        print_json(found.as_dict())
    else:
        show(out(), found, f"{hide_password(store)} · {where}")


def _premises(
    store: str,
    namespace: str,
    base: Config,
    detectors: list[str] | None,
    assignments: list[str] | None,
    *,
    project: bool,
) -> Premises:
    """Return the configuration: what the user says, else what the store says, else the defaults."""
    told = project or bool(detectors)
    with open_existing(store, namespace) as there:
        scheme = json.loads(there.info().scheme)
    if told:
        from_store = Recovered(replace(base, detectors=tuple(detectors)) if detectors else base)
    else:
        from_store = recovered(scheme, base)
    chosen = assignments_of(assignments)
    return Premises(
        assigned(from_store.config, chosen),
        given=frozenset(chosen),
        source=Source.PROJECT if project else Source.DEFAULT,
        recovered=not told,
        notes=from_store.notes,
    )


def _subject(dedup: Deduplicator, url: str, file: Path | None, ledger: Ledger | None) -> Subject:
    """Return the page that is asked about: of the file, else the store, else the run, else the network."""
    rows = ledger.find(url) if ledger else ()
    then = Then(rows[0].entry.verdict, str(rows[0].fate), rows[0].entry.time) if rows else None
    if file is not None:
        _, body, kind = fetch_body(str(file))
        page = dedup.read(html=body, url=url, content_type=kind)
        return Subject(url, f"read from {file}, and judged as a crawl would judge it now", page, then=then)
    held = dedup.store.lookup(without_fragment(url))
    if held is not None:
        return Subject(url, "a record of the store", held=held, then=then)
    text = _text(ledger, rows)
    if text:
        page = Page.from_text(text, url, rows[0].entry.title)
        return Subject(url, "not in the store; judged by the text that the run noted", page, then=then)
    return _fetched(dedup, url, then)


def _text(ledger: Ledger | None, rows: tuple[Row, ...]) -> str:
    return (ledger.text(rows[0].id) or "") if ledger and rows else ""


def _fetched(dedup: Deduplicator, url: str, then: Then | None) -> Subject:
    try:
        final, body, kind = fetch_body(url)
    except DedupError as error:
        raise DedupError(f"The store does not hold {url}, and {error}; --file gives its HTML.") from error
    page = dedup.read(html=body, url=final, content_type=kind)
    moved = f" ({final})" if final != url else ""
    return Subject(
        url, f"not in the store; fetched{moved} and judged as a crawl would judge it now", page, then=then
    )


def _side(dedup: Deduplicator, where: str) -> Side:
    """Return the page to compare with, from the store or from where it is."""
    held = dedup.store.lookup(without_fragment(where))
    if held is not None:
        return Side.held(held)
    final, body, kind = fetch_body(where)
    page = dedup.read(html=body, url=final, content_type=kind)
    record = page if isinstance(page, Verdict) else dedup.file(page)
    if isinstance(record, Verdict):
        raise DedupError(f"{where} cannot be compared: it is unchecked({record.reason}).")
    return Side(final, record, page=page if isinstance(page, Page) else None)


def _tick(stack: ExitStack, dedup: Deduplicator) -> Callable[[int], None]:
    """Show how many records were looked at, where they are many."""
    total = dedup.info().pages
    if total < _MANY:
        return lambda _: None
    bars = stack.enter_context(Bars())
    bars.begin("looking", total)
    return lambda more: bars.advance(more, pages=more)
