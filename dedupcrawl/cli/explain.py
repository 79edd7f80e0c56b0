"""``dedupcrawl explain``: why a page got its verdict, and which setting would change it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupcrawl.cli.console import Bars, out, print_json
from dedupcrawl.cli.explain_view import show
from dedupcrawl.cli.inspect import fetch_body
from dedupcrawl.cli.options import Assignments, DetectorNames, OfProject, assignments_of, project_here
from dedupcrawl.cli.store import only_namespace
from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.page.model import Page
from dedupcrawl.store_config import Recovered, recovered
from dedupcrawl.stores import open_existing
from dedupcrawl.tools.evaluation.runs import with_constants
from dedupcrawl.tools.explain.case import ComparedPage
from dedupcrawl.tools.explain.configuration import ConstantSource, EffectiveConfig, settings_of_run
from dedupcrawl.tools.explain.explainer import Explainer
from dedupcrawl.tools.explain.explanation import ListedMember, PastVerdict, Subject
from dedupcrawl.utils.formatting import hide_password
from dedupcrawl.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.ledger.ledger import LedgerRow

#: Why a page is unchecked although it was read.
_JUDGED = frozenset({"short", "no-fingerprint", "claimed", "store"})
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
    project: OfProject = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Look only under shared keys, not at every record of the store.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write everything as JSON.")] = False,
) -> None:
    """Say why a page got its verdict: whom it met, what each detector says, which setting would change it.

    A page that the store does not hold is fetched, and judged as a crawl would judge it now.
    """
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(run)) if run else None
        base = _base(ledger, project=project)
        where = namespace or base.namespace or only_namespace(store)
        premises = _premises(store, where, base, detector, assignments)
        dedup = stack.enter_context(Deduplicator(store, where, config=premises.config))
        subject = _subject(dedup, url, file, ledger)
        against = _against(dedup, other, subject) if other else None
        tick = None if quick else _tick(stack, dedup)
        found = Explainer(premises, dedup.store, tick).explain(subject, against)
    if as_json:
        print_json(found.as_dict())
    else:
        show(out(), found, f"{hide_password(store)} · {where}")


@dataclass(frozen=True, slots=True)
class _Base:
    """A configuration to begin with."""

    config: Config
    source: ConstantSource
    namespace: str | None = None


def _base(ledger: Ledger | None, *, project: bool) -> _Base:
    """Return the configuration of the project, else that of the run, else the defaults."""
    if project:
        config, namespace = project_here()
        return _Base(config, ConstantSource.PROJECT, namespace)
    noted = settings_of_run(ledger.runs[-1].about) if ledger else None
    return (
        _Base(noted.config, ConstantSource.RUN, noted.namespace)
        if noted
        else _Base(Config(), ConstantSource.DEFAULT)
    )


def _premises(
    store: str, namespace: str, base: _Base, detectors: list[str] | None, assignments: list[str] | None
) -> EffectiveConfig:
    """Return the configuration: what the user says, else what the store says, else that to begin with."""
    with open_existing(store, namespace) as there:
        scheme = json.loads(there.info().scheme)
    told = bool(detectors) or base.source is not ConstantSource.DEFAULT
    if told:
        config = replace(base.config, detectors=tuple(detectors)) if detectors else base.config
        from_store = Recovered(config)
    else:
        from_store = recovered(scheme, base.config)
    chosen = assignments_of(assignments)
    return EffectiveConfig(
        with_constants(from_store.config, chosen),
        given=frozenset(chosen),
        source=base.source,
        recovered=not told,
        notes=from_store.notes,
    )


def _subject(dedup: Deduplicator, url: str, file: Path | None, ledger: Ledger | None) -> Subject:
    """Return the page that is asked about: of the file, else the store, else the run, else the network."""
    row = next(iter(ledger.find(url)), None) if ledger else None
    then = _then(ledger, row) if ledger and row else None
    if file is not None:
        _, body, kind = fetch_body(str(file))
        page = dedup.read(html=body, url=url, content_type=kind)
        return Subject(url, f"read from {file}, and judged as a crawl would judge it now", page, then=then)
    held = dedup.store.lookup(without_fragment(url))
    if held is not None:
        return Subject(url, "a record of the store", held=held, then=then)
    noted = _noted(ledger, row) if ledger and row else None
    if noted is None:
        return _fetched(dedup, url, then)
    what = (
        "judged by the text that the run noted"
        if isinstance(noted, Page)
        else "the run found nothing on it to judge"
    )
    return Subject(url, f"not in the store; {what}", noted, then=then)


def _then(ledger: Ledger, row: LedgerRow) -> PastVerdict:
    verdict = row.entry.verdict
    pages = ledger.cluster(verdict.cluster) if verdict.cluster else ()
    listed = tuple(ListedMember(each.entry.url, str(each.fate), each.entry.time) for each in pages)
    return PastVerdict(verdict, str(row.fate), row.entry.time, listed)


def _noted(ledger: Ledger, row: LedgerRow) -> Page | Verdict | None:
    """Return what a run noted of a page: its text, or why it had none to judge."""
    verdict = row.entry.verdict
    if verdict.reason and verdict.reason not in _JUDGED:
        return verdict
    text = ledger.text(row.id)
    return Page.from_text(text, row.entry.url, row.entry.title) if text else None


def _fetched(dedup: Deduplicator, url: str, then: PastVerdict | None) -> Subject:
    try:
        final, body, kind = fetch_body(url)
    except DedupError as error:
        raise DedupError(f"The store does not hold {url}, and {error}; --file gives its HTML.") from error
    page = dedup.read(html=body, url=final, content_type=kind)
    moved = f" ({final})" if final != url else ""
    return Subject(
        url, f"not in the store; fetched{moved} and judged as a crawl would judge it now", page, then=then
    )


def _against(dedup: Deduplicator, where: str, subject: Subject) -> ComparedPage:
    """Return the page to compare with, from the store or from where it is."""
    held = dedup.store.lookup(without_fragment(where))
    if held is not None and held == subject.held:
        raise SettingError("--other", where, "another page than the one that is to be explained")
    if held is not None:
        return ComparedPage.from_candidate(held)
    final, body, kind = fetch_body(where)
    page = dedup.read(html=body, url=final, content_type=kind)
    record = page if isinstance(page, Verdict) else dedup.file(page)
    if isinstance(record, Verdict):
        raise DedupError(f"{where} cannot be compared: it is unchecked({record.reason}).")
    return ComparedPage(final, record, page=page if isinstance(page, Page) else None)


def _tick(stack: ExitStack, dedup: Deduplicator) -> Callable[[int], None]:
    """Show how many records were looked at, where they are many."""
    total = dedup.info().pages
    if total < _MANY:
        return lambda _: None
    bars = stack.enter_context(Bars())
    bars.begin("looking", total)
    return lambda more: bars.advance(more, pages=more)
