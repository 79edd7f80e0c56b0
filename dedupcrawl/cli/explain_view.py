"""An explanation on a terminal. Whatever comes from pages is text: no markup, no control characters.

What a detector says of a pair, on a terminal. What comes from pages is text: no control characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dedupcrawl.stores.workers import printable
from dedupcrawl.tools.explain.configuration import ConstantSource
from dedupcrawl.tools.explain.counterfactuals import NEW_STORE
from dedupcrawl.tools.explain.explanation import iso_time, state_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType

    from dedupcrawl.detectors.base import Bar, Exhibit, Opinion
    from dedupcrawl.tools.explain.case import ComparedPage, ComparedPair
    from dedupcrawl.tools.explain.counterfactuals import Counterfactual, SettingChange
    from dedupcrawl.tools.explain.explanation import Explanation
    from dedupcrawl.verdict import Verdict


_WORD = 80  #: characters of an element of an exhibit
_ELEMENTS = 8  #: of each kind of an exhibit
_PLACES = 512  #: places of an exhibit that are drawn
_LINE = 32  #: of them in a line


def drawn(opinion: Opinion) -> RenderableType:
    """Draw an opinion: what it says, the bars, the figures and what two sketches share."""
    title = Text.assemble((opinion.detector, "bold"), "  ", _match(opinion))
    if opinion.silent:
        return title
    figures = Table.grid()  # a text of its own would not be folded in a pipe
    figures.add_row(Text(_figures(opinion.figures.items()), style="dim", overflow="fold"))
    parts: list[RenderableType] = [_bars(opinion), figures]
    rows = [row for shown in opinion.exhibits for row in _exhibit(shown)]
    if rows:
        parts.append(facts(rows))
    return Group(title, Padding(Group(*parts), (0, 0, 0, 2)))


def _match(opinion: Opinion) -> Text:
    if opinion.silent:
        return Text(opinion.silent, style="yellow")
    measured = "" if opinion.similarity is None else f"  similarity {opinion.similarity:.4f}"
    if opinion.match is None:
        return Text(f"no match{measured}", style="red")
    return Text(f"{opinion.match.relation}{measured}", style="green")


def _bars(opinion: Opinion) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [(bar, "") for bar in opinion.bars]
    rows += [(bar, " (for excerpts, expansions)") for bar in opinion.part_bars if bar not in opinion.bars]
    for bar, what in rows:
        mark = Text("✓", style="green") if bar.is_met else Text("✗", style="red")
        measure = (bar.measure if bar.constant else "") + what
        table.add_row(mark, Text(bar.constant or bar.measure), Text(_condition(bar)), Text(measure))
    return table


def _condition(bar: Bar) -> str:
    signs = (">" if bar.is_strict else "≥", "<" if bar.is_strict else "≤")
    found, value = _told_apart(bar.found, bar.value)
    return f"{found}, must be {signs[0] if bar.at_least else signs[1]} {value}"


def _told_apart(found: float, value: float) -> tuple[str, str]:
    """Write two numbers with as few digits as show that they differ, if they do."""
    shown = ((number(found, digits), number(value, digits)) for digits in (4, 6, 9))
    return next((pair for pair in shown if pair[0] != pair[1] or found == value), (repr(found), repr(value)))


def number(value: float, digits: int = 4) -> str:
    """Write a number with at most so many digits behind the point."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _figures(figures: Iterable[tuple[str, object]]) -> str:
    return " · ".join(f"{name.replace('_', ' ')} {_figure(value)}" for name, value in figures)


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return f"({_figures(value.items())})"
    plain = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(plain, _WORD * 4)


def _exhibit(shown: Exhibit) -> Iterator[tuple[str, Text]]:
    if 0 < len(shown.agreeing) <= _PLACES:
        yield shown.unit, _strip(shown.agreeing)
    kinds = (("in both", shown.shared), ("new only", shown.only_new), ("older only", shown.only_old))
    for kind, elements in kinds:
        if elements:
            yield f"{shown.unit}, {kind}", Text(_listed(elements))


def _strip(agreeing: str) -> Text:
    """Draw places: "#" where they agree; of ASCII, for other signs are of two widths in some terminals."""
    strip = Text()
    for place, agrees in enumerate(agreeing):
        strip.append("\n" if place and place % _LINE == 0 else "")
        strip.append("#" if agrees == "1" else ".", style="green" if agrees == "1" else "red")
    return strip


def _listed(elements: Sequence[str]) -> str:
    more = f" … and {len(elements) - _ELEMENTS} more" if len(elements) > _ELEMENTS else ""
    return ", ".join(printable(each, _WORD) for each in elements[:_ELEMENTS]) + more


def facts(rows: Iterable[tuple[str, Text]]) -> Table:
    """Make a table of names and what is to be said of them."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


_LONG = 2000  #: characters of a URL
_MEMBERS = 20  #: pages of a cluster that are listed
_MARKS = {True: "*", False: "**"}  #: of what needs a new store, by whether it is sure what happens there
_FATES = {True: "kept", False: "dropped"}


def show(console: Console, found: Explanation, store: str) -> None:
    """Write an explanation to a console; ``store`` is how it is called."""
    console.print(Text(printable(found.url, _LONG), style="bold"))
    console.print(facts(_of_page(found, store)))
    for remark in found.remarks:
        console.print(Text(f"! {printable(remark, _LONG)}", style="yellow"))
    if found.pair is not None:
        _head(console, "The pair")
        console.print(facts(_of_pair(found.pair, found.verdict)))
        _head(console, "What the detectors say")
        for opinion in found.pair.opinions:
            console.print(drawn(opinion))
    _head(console, "What would change the verdict" + _on_what(found))
    console.print(_levers(found))
    if found.cluster:
        _head(console, f"Cluster {found.cluster}")
        console.print(_cluster(found))
    _head(console, "Constants in force")
    console.print(_premises(found))


def said(verdict: Verdict) -> Text:
    """Say a verdict in a few words."""
    if verdict.reason:
        return Text(f"unchecked({verdict.reason}), kept", style="yellow")
    related = f": {verdict.relation}" if verdict.relation else ""
    fate = "replaces the older page" if verdict.supersedes else _FATES[verdict.keep]
    return Text(f"{verdict.status}, {fate}{related}", style="green" if verdict.keep else "red")


def _head(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold cyan"))


def _on_what(found: Explanation) -> str:
    """Say whose verdict it is, where it is not that of the page that was asked about."""
    pair = found.pair
    turned = pair is not None and pair.new.url != found.url
    return " on the later page" * turned + ", if they met" * (pair is not None and not pair.met)


def _of_page(found: Explanation, store: str) -> Iterator[tuple[str, Text]]:
    verdict = found.verdict
    yield "store", Text(printable(store, _LONG))
    yield "page", Text(printable(found.origin, _LONG))
    if found.then is not None:
        other = f"; it is {found.then.fate}" if found.then.fate in ("open", "released") else ""
        when = f" ({_moment(found.then.time)}{other})"
        yield "the run said", Text.assemble(said(found.then.verdict), _of_whom(found.then.verdict), when)
    yield "verdict", Text.assemble(said(verdict), _of_whom(verdict))
    if verdict.similarity is not None:
        yield "similarity", Text(f"{verdict.similarity:.4f} by {verdict.detector}")
    if found.held is not None:
        yield "filed", Text(f"{_moment(found.held.record.seen)}, {state_name(found.held.state)}")
    if found.length is not None:
        yield "text", Text(f"{found.length:,} characters, normalised")
    if found.record is not None:
        yield "keys", Text(f"{len(found.record.lookup_keys)}; pages in the store under them: {found.met:,}")
    if found.silent:
        yield "no fingerprint", Text(", ".join(found.silent))


def _of_whom(verdict: Verdict) -> Text:
    return Text(f" of {printable(verdict.of, _LONG)}" if verdict.of else "")


def _of_pair(pair: ComparedPair, verdict: Verdict) -> Iterator[tuple[str, Text]]:
    yield "new", _side(pair.new)
    yield "older", _side(pair.old)
    yield "why this pair", Text(str(pair.why))
    met = "a crawl compares them" if pair.met else "a crawl does not compare them"
    yield "shared keys", Text(f"{pair.shared} of {len(pair.new.record.lookup_keys)}: {met}")
    if pair.verdict != verdict:
        label = "verdict" if pair.met else "if they met"
        yield label, Text.assemble(said(pair.verdict), _of_whom(pair.verdict))


def _moment(time: float) -> str:
    return iso_time(time).replace("+00:00", " UTC")


def _side(side: ComparedPage) -> Text:
    told = (
        f"filed {_moment(side.record.seen)}, {state_name(side.state)}" if side.state else "not in the store"
    )
    return Text.assemble(printable(side.url, _LONG), (f"\n{told}", "dim"))


# -- what would change it ---------------------------------------------------------------------


def _levers(found: Explanation) -> RenderableType:
    changes = found.counterfactuals
    parts: list[RenderableType] = [_table(changes) if changes else Text(_none(found.verdict))]
    if found.together:
        parts += [Text("Several at once would:"), _table(found.together)]
    parts += [Text(note, style="dim") for note in _notes(found)]
    return Group(*parts)


def _none(verdict: Verdict) -> str:
    if verdict.reason:
        return "No setting that compares pages would; dedupcrawl inspect shows what the reader found."
    return "No single setting would."


def _notes(found: Explanation) -> Iterator[str]:
    levers = (*found.counterfactuals, *found.together)
    names = {change.name for lever in levers for change in lever.changes}
    for remark in dict.fromkeys(lever.remark for lever in levers if lever.remark):
        yield f"{_MARKS[remark == NEW_STORE]} {remark}."
    if any("." in name for name in names):
        yield "DETECTOR.CONSTANT stands in DEDUP_DETECTORS: {'DETECTOR': {'CONSTANT': ...}}."
    if "min_chars" in names:
        yield "Pages in the store were filed under the present DEDUP_MIN_CHARS."
    matching = [each for each in found.pair.opinions if each.match] if found.pair else []
    if len(matching) > 1 and names <= {"drop", "keep", "min_chars"}:
        yield f"{len(matching)} detectors match the pair: no constant of one of them decides alone."


def _table(levers: Sequence[Counterfactual]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("setting", "now", "then", "verdict"):
        table.add_column(name, overflow="fold")
    for lever in levers:
        for place, change in enumerate(lever.changes, 1):
            is_last = place == len(lever.changes)
            verdict = Text.assemble(said(lever.verdict), _mark(lever)) if is_last else Text("and")
            name = change.name if "." in change.name else change.setting
            table.add_row(Text(name), Text(_value(change.now)), Text(_then(change)), verdict)
    return table


def _mark(lever: Counterfactual) -> str:
    return f" {_MARKS[lever.remark == NEW_STORE]}" if lever.remark else ""


def _then(change: SettingChange) -> str:
    """Return the other value; of a set what is put in or taken out."""
    if isinstance(change.now, frozenset) and isinstance(change.then, frozenset):
        more, less = sorted(change.then - change.now), sorted(change.now - change.then)
        return ", ".join([f"with {each}" for each in more] + [f"without {each}" for each in less])
    return _value(change.then)


def _value(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value))) or "nothing"
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


# -- around it --------------------------------------------------------------------------------


def _cluster(found: Explanation) -> RenderableType:
    filed = [(each.record.url, each.record.seen, state_name(each.state)) for each in found.scan.members]
    told = [(each.url, each.time, each.fate) for each in found.then.cluster] if found.then else []
    walked = found.scan.scanned
    looked = "the records under shared keys" if walked is None else f"all records of the store ({walked:,})"
    return Group(
        *(_pages("in the store", filed) if filed else [Text("none of it in the store")]),
        *_pages("in the run", told),
        Text(f"Looked through for the store's: {looked}.", style="dim"),
    )


def _pages(where: str, pages: Sequence[tuple[str, float, str]]) -> Iterator[RenderableType]:
    """List pages, each with a URL, a time and what became of it."""
    if pages:
        more = f", of which the first {_MEMBERS} are shown" if len(pages) > _MEMBERS else ""
        yield Text(f"{len(pages):,} {where}{more}")
        yield facts(
            (f"{_moment(time)}  {fate}", Text(printable(url, _LONG))) for url, time, fate in pages[:_MEMBERS]
        )


def _premises(found: Explanation) -> RenderableType:
    sources: dict[str, list[str]] = {}
    for premise in sorted(found.constants, key=lambda each: each.source is ConstantSource.DEFAULT):
        sources.setdefault(str(premise.source), []).append(f"{premise.name} = {_value(premise.value)}")
    told = facts(
        (f"from {source}", Text(printable("; ".join(each), _LONG))) for source, each in sources.items()
    )
    if ConstantSource.DEFAULT not in sources:
        return told
    return Group(told, Text("The store does not say the latter; --project, --run or --set do.", style="dim"))
