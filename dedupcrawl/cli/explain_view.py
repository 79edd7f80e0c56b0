"""An explanation on a terminal. Text from pages is printed without markup and control characters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import facts_table
from dedupcrawl.page.signatures import compare_layouts
from dedupcrawl.stores.workers import printable
from dedupcrawl.tools.explain.configuration import ConstantSource
from dedupcrawl.tools.explain.counterfactuals import NEW_STORE
from dedupcrawl.tools.explain.explainer import iso_time, state_name
from dedupcrawl.tools.explain.pair_builder import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType

    from dedupcrawl.decision import Verdict
    from dedupcrawl.detectors.base import Assessment, Evidence, Threshold
    from dedupcrawl.tools.explain.counterfactuals import CounterfactualChange, SettingChange
    from dedupcrawl.tools.explain.explainer import ExplanationReport
    from dedupcrawl.tools.explain.pair_builder import ComparedPage, ComparedPair, IdentityComparison, IdentityEntry


_MAX_URL_CHARS = 2000
_MAX_ELEMENT_CHARS = 80  #: of an element of a piece of evidence
_MAX_ELEMENTS = 8  #: listed of each kind of element
_MAX_SLOTS = 512  #: drawn of a piece of evidence
_SLOTS_PER_LINE = 32
_MAX_MEMBERS = 20  #: pages of a cluster that are listed
_MARKS = {True: "*", False: "**"}  #: footnote marks by whether the remark is NEW_STORE
_OUTCOMES = {True: "kept", False: "dropped"}


def print_explanation(console: Console, found: ExplanationReport, store: str) -> None:
    """Print an explanation; ``store`` is the name that is shown for the store."""
    console.print(Text(printable(found.url, _MAX_URL_CHARS), style="bold"))
    console.print(facts_table(_page_rows(found, store), framed=False))
    for remark in found.remarks:
        console.print(Text(f"! {printable(remark, _MAX_URL_CHARS)}", style="yellow"))
    if found.rules:
        _print_heading(console, "Rules of its site that change its URL")
        for rule in found.rules:
            console.print(Text(printable(rule, 4 * _MAX_URL_CHARS)))
    if found.pair is not None:
        _print_heading(console, "The pair")
        console.print(facts_table(_pair_rows(found.pair, found.verdict), framed=False))
        _print_heading(console, "Results of the detectors")
        for assessment in found.pair.assessments:
            console.print(_assessment(assessment))
        if found.pair.identities is not None:
            _print_heading(console, "Names and values")
            console.print(_identities(found.pair.identities))
    _print_heading(console, "What would change the verdict" + _which_verdict(found))
    console.print(_counterfactuals(found))
    if found.cluster:
        _print_heading(console, f"Cluster {found.cluster}")
        console.print(_cluster(found))
    _print_heading(console, "Constants in force")
    console.print(_constants(found))


def _print_heading(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold cyan"))


# -- the page and the pair --------------------------------------------------------------------


def _page_rows(found: ExplanationReport, store: str) -> Iterator[tuple[str, Text | str]]:
    verdict = found.verdict
    yield "store", printable(store, _MAX_URL_CHARS)
    yield "page", printable(found.origin, _MAX_URL_CHARS)
    if found.then is not None:
        outcome = f"; it is {found.then.outcome}" if found.then.outcome in ("open", "released") else ""
        when = f" ({_moment(found.then.time)}{outcome})"
        yield "verdict then", Text.assemble(_verdict(found.then.verdict), when)
    yield "verdict", _verdict(verdict)
    if verdict.similarity is not None:
        yield "similarity", f"{verdict.similarity:.4f} by {verdict.detector}"
    if found.held is not None:
        yield "filed", f"{_moment(found.held.record.seen)}, {state_name(found.held.state)}"
    if found.length is not None:
        yield "text", f"{found.length:,} characters, normalised"
    if found.record is not None:
        yield "keys", f"{len(found.record.lookup_keys)}; pages in the store under them: {found.met:,}"
    if found.silent:
        yield "no fingerprint", ", ".join(found.silent)


def _pair_rows(pair: ComparedPair, verdict: Verdict) -> Iterator[tuple[str, Text | str]]:
    yield "new", _side(pair.new)
    yield "older", _side(pair.old)
    yield "why this pair", str(pair.why)
    met = "a crawl compares them" if pair.met else "a crawl does not compare them"
    yield "shared keys", f"{pair.shared} of {len(pair.new.record.lookup_keys)}: {met}"
    layout = compare_layouts(pair.new.record.identity, pair.old.record.identity)
    if layout:
        yield "layout", layout
    if pair.position:
        yield "common part", pair.position
    if pair.verdict != verdict:
        yield "verdict" if pair.met else "if compared", _verdict(pair.verdict)


def _verdict(verdict: Verdict, *, with_url: bool = True) -> Text:
    of = f" of {printable(verdict.of, _MAX_URL_CHARS)}" if verdict.of and with_url else ""
    if verdict.reason:
        return Text.assemble((f"unchecked({verdict.reason}), kept", "yellow"), of)
    related = f": {verdict.relation}" if verdict.relation else ""
    outcome = "replaces the older page" if verdict.supersedes else _OUTCOMES[verdict.keep]
    return Text.assemble((f"{verdict.status}, {outcome}{related}", "green" if verdict.keep else "red"), of)


def _side(side: ComparedPage) -> Text:
    state = f"filed {_moment(side.record.seen)}, {state_name(side.state)}" if side.state else "not in the store"
    return Text.assemble(printable(side.url, _MAX_URL_CHARS), (f"\n{state}", "dim"))


def _moment(time: float) -> str:
    return iso_time(time).replace("+00:00", " UTC")


# -- names and values -------------------------------------------------------------------------


def _identities(found: IdentityComparison) -> RenderableType:
    """Return a table of both pages; parts that the other page lacks are marked."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "new", "older"):
        table.add_column(name, overflow="fold")
    for name, attribute in (("names", "names"), ("values in the text", "values"), ("values beside it", "beside")):
        table.add_row(Text(name), *(_parts(getattr(side, attribute)) for side in (found.new, found.old)))
    lines = [Text("+ the other page lacks it; ? only its hash is stored", style="dim")]
    if found.siblings:
        lines.append(Text(f"Siblings: they differ by {found.siblings}.", style="green"))
    if not (found.new.is_whole and found.old.is_whole):
        lines.append(Text("A page has more of them than are stored: the rest is unknown.", style="dim"))
    return Group(table, *lines)


def _parts(parts: Sequence[IdentityEntry]) -> Text:
    """Return the parts of a page, its own ones first. Parts that are known by their hash only are counted."""
    known = sorted((each for each in parts if each.text != UNKNOWN), key=lambda each: not each.is_own)
    texts = [
        Text.assemble(
            (f"{'+ ' * each.is_own}{printable(each.text, _MAX_ELEMENT_CHARS)}", "bold" if each.is_own else ""),
            (f" ({', '.join(each.places)})" if each.is_own and each.places else "", "dim"),
        )
        for each in known
    ]
    hidden = Counter(each.is_own for each in parts if each.text == UNKNOWN)
    texts += [Text(f"{'+ ' * is_own}? × {number}") for is_own, number in sorted(hidden.items(), reverse=True)]
    return Text("\n").join(texts) if texts else Text("none", style="dim")


# -- the detectors ----------------------------------------------------------------------------


def _assessment(assessment: Assessment) -> RenderableType:
    """Return the match, the thresholds, the figures, and the common parts of the two sketches."""
    title = Text.assemble((assessment.detector, "bold"), "  ", _match(assessment))
    if assessment.silent:
        return title
    figures = Table.grid()  # a Text alone would not fold in a pipe
    figures.add_row(Text(_figures(assessment.figures.items()), style="dim", overflow="fold"))
    parts: list[RenderableType] = [_thresholds(assessment), figures]
    rows = [row for piece in assessment.evidence for row in _evidence_rows(piece)]
    if rows:
        parts.append(facts_table(rows, framed=False))
    return Group(title, Padding(Group(*parts), (0, 0, 0, 2)))


def _match(assessment: Assessment) -> Text:
    if assessment.silent:
        return Text(assessment.silent, style="yellow")
    measured = "" if assessment.similarity is None else f"  similarity {assessment.similarity:.4f}"
    if assessment.match is None:
        return Text(f"no match{measured}", style="red")
    return Text(f"{assessment.match.relation}{measured}", style="green")


def _thresholds(assessment: Assessment) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [(threshold, "") for threshold in assessment.thresholds]
    rows += [
        (threshold, " (for excerpts, expansions)")
        for threshold in assessment.part_thresholds
        if threshold not in assessment.thresholds
    ]
    for threshold, note in rows:
        mark = Text("✓", style="green") if threshold.is_met else Text("✗", style="red")
        measure = (threshold.measure if threshold.constant else "") + note
        table.add_row(mark, Text(threshold.constant or threshold.measure), Text(_condition(threshold)), Text(measure))
    return table


def _condition(threshold: Threshold) -> str:
    signs = (">" if threshold.is_strict else "≥", "<" if threshold.is_strict else "≤")
    found, value = _distinct(threshold.found, threshold.value)
    return f"{found}, must be {signs[0] if threshold.at_least else signs[1]} {value}"


def _distinct(found: float, value: float) -> tuple[str, str]:
    """Format two numbers with so many digits that different numbers look different."""
    texts = ((_number(found, digits), _number(value, digits)) for digits in (4, 6, 9))
    return next((pair for pair in texts if pair[0] != pair[1] or found == value), (repr(found), repr(value)))


def _number(value: float, digits: int = 4) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _figures(figures: Iterable[tuple[str, object]]) -> str:
    return " · ".join(f"{name.replace('_', ' ')} {_figure(value)}" for name, value in figures)


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return f"({_figures(value.items())})"
    plain = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(plain, _MAX_ELEMENT_CHARS * 4)


def _evidence_rows(piece: Evidence) -> Iterator[tuple[str, Text | str]]:
    if 0 < len(piece.agreeing) <= _MAX_SLOTS:
        yield piece.unit, _slots(piece.agreeing)
    kinds = (("in both", piece.shared), ("new only", piece.only_new), ("older only", piece.only_old))
    for kind, elements in kinds:
        if elements:
            more = f" … and {len(elements) - _MAX_ELEMENTS} more" if len(elements) > _MAX_ELEMENTS else ""
            listed = ", ".join(printable(each, _MAX_ELEMENT_CHARS) for each in elements[:_MAX_ELEMENTS])
            yield f"{piece.unit}, {kind}", listed + more


def _slots(agreeing: str) -> Text:
    """Draw "#" for an equal slot, "." for another; some terminals draw block characters too wide."""
    drawn = Text()
    for slot, agrees in enumerate(agreeing):
        drawn.append("\n" if slot and slot % _SLOTS_PER_LINE == 0 else "")
        drawn.append("#" if agrees == "1" else ".", style="green" if agrees == "1" else "red")
    return drawn


# -- what would change the verdict ------------------------------------------------------------


def _which_verdict(found: ExplanationReport) -> str:
    """Return a suffix if the settings change another verdict than that of the page in question."""
    pair = found.pair
    is_swapped = pair is not None and pair.new.url != found.url
    return " on the later page" * is_swapped + ", if they were compared" * (pair is not None and not pair.met)


def _counterfactuals(found: ExplanationReport) -> RenderableType:
    single: RenderableType
    if found.counterfactuals:
        single = _counterfactuals_table(found.counterfactuals)
    elif found.verdict.reason:
        single = Text("No setting that compares pages would; dedupcrawl inspect shows what the reader found.")
    else:
        single = Text("No single setting would.")
    parts: list[RenderableType] = [single]
    if found.together:
        parts += [Text("Several at once would:"), _counterfactuals_table(found.together)]
    parts += [Text(note, style="dim") for note in _notes(found)]
    return Group(*parts)


def _notes(found: ExplanationReport) -> Iterator[str]:
    levers = (*found.counterfactuals, *found.together)
    names = {change.name for lever in levers for change in lever.changes}
    for remark in dict.fromkeys(lever.remark for lever in levers if lever.remark):
        yield f"{_MARKS[remark == NEW_STORE]} {remark}."
    if any("." in name for name in names):
        yield "DETECTOR.CONSTANT is set in DEDUP_DETECTORS: {'DETECTOR': {'CONSTANT': ...}}."
    if "min_chars" in names:
        yield "Pages in the store were filed under the present DEDUP_MIN_CHARS."
    matching = [each for each in found.pair.assessments if each.match] if found.pair else []
    if len(matching) > 1 and names <= {"drop", "keep", "min_chars"}:
        yield f"{len(matching)} detectors match the pair: no constant of one of them decides alone."


def _counterfactuals_table(levers: Sequence[CounterfactualChange]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("setting", "now", "then", "verdict"):
        table.add_column(name, overflow="fold")
    for lever in levers:
        mark = f" {_MARKS[lever.remark == NEW_STORE]}" if lever.remark else ""
        verdict = Text.assemble(_verdict(lever.verdict, with_url=False), mark)
        for change in lever.changes:
            name = change.name if "." in change.name else change.setting
            last = verdict if change is lever.changes[-1] else Text("and")
            table.add_row(Text(name), Text(_value(change.now)), Text(_new_value(change)), last)
    return table


def _new_value(change: SettingChange) -> str:
    """Return the new value; for a set, the added and removed elements."""
    if isinstance(change.now, frozenset) and isinstance(change.then, frozenset):
        added, removed = sorted(change.then - change.now), sorted(change.now - change.then)
        return ", ".join([f"with {each}" for each in added] + [f"without {each}" for each in removed])
    return _value(change.then)


def _value(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value))) or "nothing"
    return _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


# -- the cluster and the constants ------------------------------------------------------------


def _cluster(found: ExplanationReport) -> RenderableType:
    filed = [(each.record.url, each.record.seen, state_name(each.state)) for each in found.scan.members]
    in_run = [(each.url, each.time, each.outcome) for each in found.then.cluster] if found.then else []
    scanned = found.scan.scanned
    looked = "the records under shared keys" if scanned is None else f"all records of the store ({scanned:,})"
    return Group(
        *(_members("in the store", filed) if filed else [Text("none in the store")]),
        *_members("in the run", in_run),
        Text(f"Searched: {looked}.", style="dim"),
    )


def _members(where: str, pages: Sequence[tuple[str, float, str]]) -> Iterator[RenderableType]:
    """Yield a heading and a list of pages: URL, time and outcome."""
    if pages:
        more = f"; the first {_MAX_MEMBERS} are shown" if len(pages) > _MAX_MEMBERS else ""
        yield Text(f"{len(pages):,} {where}{more}")
        rows = (
            (f"{_moment(time)}  {outcome}", printable(url, _MAX_URL_CHARS))
            for url, time, outcome in pages[:_MAX_MEMBERS]
        )
        yield facts_table(rows, framed=False)


def _constants(found: ExplanationReport) -> RenderableType:
    sources: dict[str, list[str]] = {}
    for constant in sorted(found.constants, key=lambda each: each.source is ConstantSource.DEFAULT):
        sources.setdefault(str(constant.source), []).append(f"{constant.name} = {_value(constant.value)}")
    rows = ((f"from {source}", printable("; ".join(each), _MAX_URL_CHARS)) for source, each in sources.items())
    table = facts_table(rows, framed=False)
    if ConstantSource.DEFAULT not in sources:
        return table
    return Group(table, Text("The store does not record the latter: use --project, --run or --set.", style="dim"))
