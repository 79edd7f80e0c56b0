"""``dedupcrawl explain``: why a page got its verdict, and which settings would change it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dedupcrawl.cli.console import ConsoleProgress, output_console, print_json
from dedupcrawl.cli.explain_view import print_explanation
from dedupcrawl.cli.fetch import DEADLINE, Deadline, fetch_body
from dedupcrawl.cli.options import (
    AsJson,
    Assignments,
    DetectorNames,
    OneNamespace,
    UseProject,
    chosen_store,
    parse_assignments,
    project_config,
)
from dedupcrawl.cli.store import OF_PROJECT, STORE_HELP, only_namespace
from dedupcrawl.config import Config, RecoveredConfig, recovered
from dedupcrawl.decision import Verdict
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.foresee.foresight import rule_sentences
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.page.model import Page
from dedupcrawl.stores import open_existing
from dedupcrawl.tools.evaluation.runs import with_constants
from dedupcrawl.tools.explain.configuration import ConstantSource, EffectiveConfig, settings_of_run
from dedupcrawl.tools.explain.explainer import ClusterPage, ExplainedPage, ExplanationBuilder, PastVerdict
from dedupcrawl.tools.explain.pair_builder import ComparedPage
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.ledger.ledger import LedgerRow

#: Reasons of unchecked pages that were read.
_READ_REASONS = frozenset({"short", "no-fingerprint", "claimed", "store"})
_MANY_RECORDS = 5000  #: least records of a store for which a scan shows a progress bar


def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="Page whose verdict to explain.")],
    *,
    store: Annotated[str | None, typer.Option(metavar="STORE", help=f"{STORE_HELP} {OF_PROJECT}")] = None,
    namespace: OneNamespace = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Read the HTML of the page from this file.")
    ] = None,
    other: Annotated[str, typer.Option(metavar="URL|FILE", help="Compare with this page.")] = "",
    run: Annotated[
        Path | None,
        typer.Option(metavar="LEDGER", help="Show the verdict in this ledger, and use the text stored there."),
    ] = None,
    detector: DetectorNames = None,
    assignments: Assignments = None,
    project: UseProject = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Read only records that share a key, not the whole store.")
    ] = False,
    timeout: Deadline = DEADLINE,
    as_json: AsJson = False,
) -> None:
    """Explain a verdict: the pages compared, the result of each detector, the settings that would change it.

    A page that is not in the store is fetched, and judged as a crawl would judge it now.
    """
    where = chosen_store(store, "--store")
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(run)) if run else None
        base, source, base_namespace = _base_config(ledger, project=project)
        name = namespace or base_namespace or only_namespace(where)
        with open_existing(where, name) as opened:
            scheme = json.loads(opened.info().scheme)
        premises = _premises(scheme, base, source, detector, assignments)
        dedup = stack.enter_context(Deduplicator(where, name, config=premises.config))
        premises = replace(premises, config=dedup.config)  # with the secret seed of the store
        subject = _subject(dedup, url, file, ledger, timeout)
        against = _other_page(dedup, other, subject, timeout) if other else None
        on_records = None if quick else _scan_progress(stack, dedup)
        found = ExplanationBuilder(premises, dedup.store, on_records).explain(subject, against)
        found = replace(found, rules=rule_sentences(dedup.store.notes, url))
    if as_json:
        print_json(found.as_dict())
    else:
        print_explanation(output_console(), found, f"{hide_password(where)} · {name}")


def _base_config(ledger: Ledger | None, *, project: bool) -> tuple[Config, ConstantSource, str | None]:
    """Return a configuration, its source and its namespace: of the project, the run or the defaults."""
    if project:
        config, namespace = project_config()
        return config, ConstantSource.PROJECT, namespace
    of_run = settings_of_run(ledger.runs[-1].about) if ledger else None
    if of_run:
        return of_run.config, ConstantSource.RUN, of_run.namespace
    return Config(), ConstantSource.DEFAULT, None


def _premises(
    scheme: dict[str, Any],
    base: Config,
    source: ConstantSource,
    detectors: list[str] | None,
    assignments: list[str] | None,
) -> EffectiveConfig:
    """Return the configuration: of the user, else of the store whose scheme this is, else the base."""
    of_user = bool(detectors) or source is not ConstantSource.DEFAULT
    if of_user:
        from_store = RecoveredConfig(replace(base, detectors=tuple(detectors)) if detectors else base)
    else:
        from_store = recovered(scheme, base)
    chosen = parse_assignments(assignments)
    return EffectiveConfig(
        with_constants(from_store.config, chosen),
        given=frozenset(chosen),
        source=source,
        recovered=not of_user,
        notes=from_store.notes,
    )


def _subject(dedup: Deduplicator, url: str, file: Path | None, ledger: Ledger | None, seconds: float) -> ExplainedPage:
    """Return the page to explain: from the file, else the store, else the ledger, else the network."""
    row = next(iter(ledger.find(url)), None) if ledger else None
    then = _then(ledger, row) if ledger and row else None
    if file is not None:
        _, body, kind = fetch_body(str(file))
        page = dedup.read(html=body, url=url, content_type=kind)
        return ExplainedPage(url, f"read from {file}, and judged as a crawl would judge it now", page, then=then)
    held = dedup.store.lookup(without_fragment(url))
    if held is not None:
        return ExplainedPage(url, "a record of the store", held=held, then=then)
    recorded = _from_ledger(ledger, row) if ledger and row else None
    if recorded is None:
        return _fetch_subject(dedup, url, then, seconds)
    is_page = isinstance(recorded, Page)
    what = "judged by the text in the ledger" if is_page else "the run could not judge it"
    return ExplainedPage(url, f"not in the store; {what}", recorded, then=then)


def _then(ledger: Ledger, row: LedgerRow) -> PastVerdict:
    verdict = row.entry.verdict
    pages = ledger.cluster(verdict.cluster) if verdict.cluster else ()
    listed = tuple(ClusterPage(each.entry.url, str(each.outcome), each.entry.time) for each in pages)
    return PastVerdict(verdict, str(row.outcome), row.entry.time, listed)


def _from_ledger(ledger: Ledger, row: LedgerRow) -> Page | Verdict | None:
    """Return the page with the text in the ledger, or the verdict if the page had no text to judge."""
    verdict = row.entry.verdict
    if verdict.reason and verdict.reason not in _READ_REASONS:
        return verdict
    text = ledger.text(row.id)
    return Page.from_text(text, row.entry.url, row.entry.title) if text else None


def _fetch_subject(dedup: Deduplicator, url: str, then: PastVerdict | None, seconds: float) -> ExplainedPage:
    try:
        final, body, kind = fetch_body(url, seconds=seconds)
    except DedupError as error:
        raise DedupError(f"The store does not hold {url}, and {error}; --file gives its HTML.") from error
    page = dedup.read(html=body, url=final, content_type=kind)
    moved = f" ({final})" if final != url else ""
    origin = f"not in the store; fetched{moved} and judged as a crawl would judge it now"
    return ExplainedPage(url, origin, page, then=then)


def _other_page(dedup: Deduplicator, where: str, subject: ExplainedPage, seconds: float) -> ComparedPage:
    """Return the page of ``--other``, from the store or else from its URL or file."""
    held = dedup.store.lookup(without_fragment(where))
    if held is not None and held == subject.held:
        raise SettingError("--other", where, "another page than the one that is to be explained")
    if held is not None:
        return ComparedPage.from_candidate(held)
    final, body, kind = fetch_body(where, seconds=seconds)
    page = dedup.read(html=body, url=final, content_type=kind)
    record = page if isinstance(page, Verdict) else dedup.fingerprint(page)
    if isinstance(record, Verdict):
        raise DedupError(f"{where} cannot be compared: it is unchecked({record.reason}).")
    return ComparedPage(final, record, page=page if isinstance(page, Page) else None)


def _scan_progress(stack: ExitStack, dedup: Deduplicator) -> Callable[[int], None]:
    """Return a callback for the number of records read; it shows a bar for a large store."""
    total = dedup.info().pages
    if total < _MANY_RECORDS:
        return lambda _: None
    bars = stack.enter_context(ConsoleProgress())
    bars.begin("looking", total)
    return lambda more: bars.advance(more, pages=more)
