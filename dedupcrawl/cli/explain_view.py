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
from dedupcrawl.utils.messages import mark, tr, tr_sentence

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


def print_explanation(console: Console, found: ExplanationReport, store: str) -> None:
    """Print an explanation; ``store`` is the name that is shown for the store."""
    console.print(Text(printable(found.url, _MAX_URL_CHARS), style="bold"))
    console.print(facts_table(_page_rows(found, store), framed=False))
    for remark in found.remarks:
        console.print(Text(f"! {tr_sentence(printable(remark, _MAX_URL_CHARS))}", style="yellow"))
    if found.rules:
        _print_heading(console, tr("Rules of its site that change its URL"))
        for rule in found.rules:
            console.print(Text(tr_sentence(printable(rule, 4 * _MAX_URL_CHARS))))
    if found.pair is not None:
        _print_heading(console, tr("The pair"))
        console.print(facts_table(_pair_rows(found.pair, found.verdict), framed=False))
        _print_heading(console, tr("Results of the detectors"))
        for assessment in found.pair.assessments:
            console.print(_assessment(assessment))
        if found.pair.identities is not None:
            _print_heading(console, tr("Names and values"))
            console.print(_identities(found.pair.identities))
    _print_heading(console, tr("What would change the verdict") + _which_verdict(found))
    console.print(_counterfactuals(found))
    if found.cluster:
        _print_heading(console, tr("Cluster {name}", name=found.cluster))
        console.print(_cluster(found))
    _print_heading(console, tr("Constants in force"))
    console.print(_constants(found))


def _print_heading(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold cyan"))


# -- the page and the pair --------------------------------------------------------------------


def _page_rows(found: ExplanationReport, store: str) -> Iterator[tuple[str, Text | str]]:
    verdict = found.verdict
    yield tr("store"), printable(store, _MAX_URL_CHARS)
    yield tr("page"), tr_sentence(printable(found.origin, _MAX_URL_CHARS))
    if found.then is not None:
        outcome = ""
        if found.then.outcome in ("open", "released"):
            outcome = tr("; it is {outcome}", outcome=tr_sentence(found.then.outcome))
        when = f" ({_moment(found.then.time)}{outcome})"
        yield tr("verdict then"), Text.assemble(_verdict(found.then.verdict), when)
    yield tr("verdict"), _verdict(verdict)
    if verdict.similarity is not None:
        measured = {"similarity": f"{verdict.similarity:.4f}", "detector": verdict.detector}
        yield tr("similarity"), tr("{similarity} by {detector}", **measured)
    if found.held is not None:
        yield tr("filed"), f"{_moment(found.held.record.seen)}{tr(', ')}{tr_sentence(state_name(found.held.state))}"
    if found.length is not None:
        yield tr("text"), tr("{n} characters, normalised", n=f"{found.length:,}")
    if found.record is not None:
        counts = {"n": len(found.record.lookup_keys), "met": f"{found.met:,}"}
        yield tr("keys"), tr("{n}; pages in the store under them: {met}", **counts)
    if found.silent:
        yield tr("no fingerprint"), ", ".join(found.silent)


def _pair_rows(pair: ComparedPair, verdict: Verdict) -> Iterator[tuple[str, Text | str]]:
    yield tr("new"), _side(pair.new)
    yield tr("older"), _side(pair.old)
    yield tr("why this pair"), tr_sentence(str(pair.why))
    met = tr("a crawl compares them") if pair.met else tr("a crawl does not compare them")
    keys = {"n": pair.shared, "all": len(pair.new.record.lookup_keys), "met": met}
    yield tr("shared keys"), tr("{n} of {all}: {met}", **keys)
    layout = compare_layouts(pair.new.record.identity, pair.old.record.identity)
    if layout:
        yield tr("layout"), tr_sentence(layout)
    if pair.position:
        yield tr("common part"), tr_sentence(pair.position)
    if pair.verdict != verdict:
        yield tr("verdict") if pair.met else tr("if compared"), _verdict(pair.verdict)


def _verdict(verdict: Verdict, *, with_url: bool = True) -> Text:
    of = tr(" of {url}", url=printable(verdict.of, _MAX_URL_CHARS)) if verdict.of and with_url else ""
    if verdict.reason:
        return Text.assemble((tr("unchecked({reason}), kept", reason=verdict.reason), "yellow"), of)
    outcome = tr("replaces the older page") if verdict.supersedes else tr_sentence(_outcome(verdict))
    judged = f"{tr_sentence(str(verdict.status))}{tr(', ')}{outcome}"
    if verdict.relation:
        judged = tr("{verdict}: {relation}", verdict=judged, relation=tr_sentence(str(verdict.relation)))
    return Text.assemble((judged, "green" if verdict.keep else "red"), of)


def _outcome(verdict: Verdict) -> str:
    return "kept" if verdict.keep else "dropped"


def _side(side: ComparedPage) -> Text:
    state = tr("not in the store")
    if side.state:
        filed = {"time": _moment(side.record.seen), "state": tr_sentence(state_name(side.state))}
        state = tr("filed {time}, {state}", **filed)
    return Text.assemble(printable(side.url, _MAX_URL_CHARS), (f"\n{state}", "dim"))


def _moment(time: float) -> str:
    return iso_time(time).replace("+00:00", " UTC")


# -- names and values -------------------------------------------------------------------------


def _identities(found: IdentityComparison) -> RenderableType:
    """Return a table of both pages; parts that the other page lacks are marked."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", tr("new"), tr("older")):
        table.add_column(name, overflow="fold")
    rows = ((tr("names"), "names"), (tr("values in the text"), "values"), (tr("values beside it"), "beside"))
    for name, attribute in rows:
        table.add_row(Text(name), *(_parts(getattr(side, attribute)) for side in (found.new, found.old)))
    lines = [Text(tr("+ the other page lacks it; ? only its hash is stored"), style="dim")]
    if found.siblings:
        lines.append(Text(tr("Siblings: they differ by {what}.", what=tr_sentence(found.siblings)), style="green"))
    if not (found.new.is_whole and found.old.is_whole):
        lines.append(Text(tr("A page has more of them than are stored: the rest is unknown."), style="dim"))
    return Group(table, *lines)


def _parts(parts: Sequence[IdentityEntry]) -> Text:
    """Return the parts of a page, its own ones first. Parts that are known by their hash only are counted."""
    known = sorted((each for each in parts if each.text != UNKNOWN), key=lambda each: not each.is_own)
    texts = [
        Text.assemble(
            (f"{'+ ' * each.is_own}{printable(each.text, _MAX_ELEMENT_CHARS)}", "bold" if each.is_own else ""),
            (f" ({', '.join(map(tr_sentence, each.places))})" if each.is_own and each.places else "", "dim"),
        )
        for each in known
    ]
    hidden = Counter(each.is_own for each in parts if each.text == UNKNOWN)
    texts += [Text(f"{'+ ' * is_own}? × {number}") for is_own, number in sorted(hidden.items(), reverse=True)]
    return Text("\n").join(texts) if texts else Text(tr("none"), style="dim")


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
        return Text(tr_sentence(assessment.silent), style="yellow")
    measured = ""
    if assessment.similarity is not None:
        measured = tr("  similarity {similarity}", similarity=f"{assessment.similarity:.4f}")
    if assessment.match is None:
        return Text(f"{tr('no match')}{measured}", style="red")
    return Text(f"{tr_sentence(str(assessment.match.relation))}{measured}", style="green")


def _thresholds(assessment: Assessment) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [(threshold, "") for threshold in assessment.thresholds]
    rows += [
        (threshold, tr(" (for excerpts, expansions)"))
        for threshold in assessment.part_thresholds
        if threshold not in assessment.thresholds
    ]
    for threshold, note in rows:
        sign = Text("✓", style="green") if threshold.is_met else Text("✗", style="red")
        meaning = tr_sentence(threshold.measure)
        measure = (meaning if threshold.constant else "") + note
        table.add_row(sign, Text(threshold.constant or meaning), Text(_condition(threshold)), Text(measure))
    return table


def _condition(threshold: Threshold) -> str:
    signs = (">" if threshold.is_strict else "≥", "<" if threshold.is_strict else "≤")
    found, value = _distinct(threshold.found, threshold.value)
    return tr("{found}, must be {sign} {value}", found=found, sign=signs[not threshold.at_least], value=value)


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
        yield tr_sentence(piece.unit), _slots(piece.agreeing)
    kinds = ((tr("in both"), piece.shared), (tr("new only"), piece.only_new), (tr("older only"), piece.only_old))
    for kind, elements in kinds:
        if elements:
            more = tr(" … and {n} more", n=len(elements) - _MAX_ELEMENTS) if len(elements) > _MAX_ELEMENTS else ""
            listed = ", ".join(printable(each, _MAX_ELEMENT_CHARS) for each in elements[:_MAX_ELEMENTS])
            yield f"{tr_sentence(piece.unit)}{tr(', ')}{kind}", listed + more


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
    is_supposed = pair is not None and not pair.met
    return tr(" on the later page") * is_swapped + tr(", if they were compared") * is_supposed


def _counterfactuals(found: ExplanationReport) -> RenderableType:
    single: RenderableType
    if found.counterfactuals:
        single = _counterfactuals_table(found.counterfactuals)
    elif found.verdict.reason:
        single = Text(tr("No setting that compares pages would; dedupcrawl inspect shows what the reader found."))
    else:
        single = Text(tr("No single setting would."))
    parts: list[RenderableType] = [single]
    if found.together:
        parts += [Text(tr("Several at once would:")), _counterfactuals_table(found.together)]
    parts += [Text(note, style="dim") for note in _notes(found)]
    return Group(*parts)


def _notes(found: ExplanationReport) -> Iterator[str]:
    levers = (*found.counterfactuals, *found.together)
    names = {change.name for lever in levers for change in lever.changes}
    for remark in dict.fromkeys(lever.remark for lever in levers if lever.remark):
        told = tr("; ").join(map(tr_sentence, remark.split("; ")))
        yield tr("{mark} {remark}.", mark=_MARKS[remark == NEW_STORE], remark=told)
    if any("." in name for name in names):
        yield tr("DETECTOR.CONSTANT is set in DEDUP_DETECTORS: {'DETECTOR': {'CONSTANT': ...}}.")
    if "min_chars" in names:
        yield tr("Pages in the store were filed under the present DEDUP_MIN_CHARS.")
    matching = [each for each in found.pair.assessments if each.match] if found.pair else []
    if len(matching) > 1 and names <= {"drop", "keep", "min_chars"}:
        yield tr("{n} detectors match the pair: no constant of one of them decides alone.", n=len(matching))


def _counterfactuals_table(levers: Sequence[CounterfactualChange]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in (tr("setting"), tr("now"), tr("then"), tr("verdict")):
        table.add_column(name, overflow="fold")
    for lever in levers:
        footnote = f" {_MARKS[lever.remark == NEW_STORE]}" if lever.remark else ""
        verdict = Text.assemble(_verdict(lever.verdict, with_url=False), footnote)
        for change in lever.changes:
            name = change.name if "." in change.name else change.setting
            last = verdict if change is lever.changes[-1] else Text(tr("and"))
            table.add_row(Text(name), Text(_value(change.now)), Text(_new_value(change)), last)
    return table


def _new_value(change: SettingChange) -> str:
    """Return the new value; for a set, the added and removed elements."""
    if isinstance(change.now, frozenset) and isinstance(change.then, frozenset):
        added, removed = sorted(change.then - change.now), sorted(change.now - change.then)
        changes = [tr("with {name}", name=each) for each in added] + [
            tr("without {name}", name=each) for each in removed
        ]
        return tr(", ").join(changes)
    return _value(change.then)


def _value(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value))) or tr("nothing")
    return _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


# -- the cluster and the constants ------------------------------------------------------------


def _cluster(found: ExplanationReport) -> RenderableType:
    filed = [(each.record.url, each.record.seen, state_name(each.state)) for each in found.scan.members]
    in_run = [(each.url, each.time, each.outcome) for each in found.then.cluster] if found.then else []
    scanned = found.scan.scanned
    looked = tr("Searched: the records under shared keys.")
    if scanned is not None:
        looked = tr("Searched: all records of the store ({n}).", n=f"{scanned:,}")
    return Group(
        *(_members(mark("{n} in the store"), filed) if filed else [Text(tr("none in the store"))]),
        *_members(mark("{n} in the run"), in_run),
        Text(looked, style="dim"),
    )


def _members(title: str, pages: Sequence[tuple[str, float, str]]) -> Iterator[RenderableType]:
    """Yield a heading and a list of pages: URL, time and outcome."""
    if pages:
        more = tr("; the first {n} are shown", n=_MAX_MEMBERS) if len(pages) > _MAX_MEMBERS else ""
        yield Text(tr(title, n=f"{len(pages):,}") + more)
        rows = (
            (f"{_moment(time)}  {tr_sentence(outcome)}", printable(url, _MAX_URL_CHARS))
            for url, time, outcome in pages[:_MAX_MEMBERS]
        )
        yield facts_table(rows, framed=False)


def _constants(found: ExplanationReport) -> RenderableType:
    sources: dict[str, list[str]] = {}
    for constant in sorted(found.constants, key=lambda each: each.source is ConstantSource.DEFAULT):
        sources.setdefault(str(constant.source), []).append(f"{constant.name} = {_value(constant.value)}")
    rows = (
        (tr("from {source}", source=tr_sentence(source)), printable("; ".join(each), _MAX_URL_CHARS))
        for source, each in sources.items()
    )
    table = facts_table(rows, framed=False)
    if ConstantSource.DEFAULT not in sources:
        return table
    return Group(table, Text(tr("The store does not record the latter: use --project, --run or --set."), style="dim"))
