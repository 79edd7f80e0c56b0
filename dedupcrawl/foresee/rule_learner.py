"""Learns the rules of a site from the verdicts on its pages.

A dropped page and the page that it repeats differ in their URLs: this suggests a rule. Its evidence are *groups*: all
pages whose URLs the rule makes equal. A group whose pages have the same content is good evidence, however many there
are. A page with other content is a counter-example: the rule begins again, and needs twice as many groups.

A rule acts from ``NEEDED_GROUPS`` good groups without a counter-example. It applies to values that were part of the
evidence only, unless it has seen ``OPEN_VALUES`` different ones: ``?page=1`` repeats a page, ``?page=2`` does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from dedupcrawl.errors import DamageError
from dedupcrawl.foresee.page_table import LatestPage, LatestPages, PageTable, TableEntry
from dedupcrawl.foresee.url_rules import (
    MAX_RULE_CHARS,
    ChangeGroup,
    ChangeKind,
    differences,
    parse_rule,
    parse_url,
    rule_text,
    template,
)
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.foresee.url_rules import UrlFields

TRUST = 0.90  #: lowest share of right predictions, by the bound below, from which a rule acts
CONFIDENCE_Z = 1.645  #: quantile of the normal distribution: one-sided, 95 %
OPEN_VALUES = 6  #: different values of good pages, after which a rule applies to any value
MAX_REFUTED = 6  #: doublings of the evidence that a rule needs
MAX_GROUPS = 24  #: groups of changes that a site is watched for, without those of active rules
RECENT_PAGES = 256  #: pages in which the evidence for a new rule is looked for
MAX_COPIES = 3  #: of them with which a copy is compared
SITE_WIDE = "*"  #: scope of a rule that holds under at least ``SITE_SCOPES`` templates
SITE_SCOPES = 2
#: Content of a page that could not be compared: it is no copy, and nothing is foreseen to be a copy of it.
UNKNOWN = 0xFFFFFFFF
MIXED = 0  #: form of a group with different contents: it is a counter-example once, and foresees nothing


def wilson_bound(good: int, all_: int, z: float = CONFIDENCE_Z) -> float:
    """Return the lower bound of a share of which ``good`` of ``all_`` were observed (E. B. Wilson, 1927).

    >>> round(wilson_bound(25, 25), 4), round(wilson_bound(24, 24), 4)
    (0.9023, 0.8987)
    """
    if not all_:
        return 0.0
    share, square = good / all_, z * z
    middle = share + square / (2 * all_)
    width = z * sqrt(share * (1 - share) / all_ + square / (4 * all_ * all_))
    return max(0.0, (middle - width) / (1 + square / all_))


#: Good groups, without a counter-example, for which the bound reaches ``TRUST``: 25.
NEEDED_GROUPS = next(n for n in range(1, 1000) if wilson_bound(n, n) >= TRUST)


@dataclass(slots=True)
class RuleState:
    """A rule and its evidence."""

    group: ChangeGroup
    scope: str  #: the template of the URLs that it makes, or ``SITE_WIDE``
    good: int = 0  #: groups since the last counter-example
    refuted: int = 0  #: counter-examples
    probes: int = 0  #: foreseen pages that were downloaded, and compared
    wrong: int = 0  #: of them, those that were no copies
    skipped: int = 0  #: requests that were not sent
    values: set[int] = field(default_factory=set)  #: hashes of the values that good pages had
    example: tuple[str, str] = ("", "")  #: a copy, and the page that it repeats

    @property
    def text(self) -> str:
        """The rule as text."""
        return rule_text(self.group, self.scope)

    @property
    def needed(self) -> int:
        """The number of good groups from which it acts."""
        return NEEDED_GROUPS << min(self.refuted, MAX_REFUTED)

    @property
    def requests(self) -> int:
        """The number of requests that it has foreseen."""
        return self.probes + self.skipped

    @property
    def numbers(self) -> str:
        """Its use in words."""
        return f"{counted(self.requests, 'request')}, {counted(self.probes, 'probe')}, {self.wrong} wrong"

    @property
    def is_active(self) -> bool:
        """Whether it acts."""
        return self.good >= self.needed

    def covers(self, value: int) -> bool:
        """Whether the evidence covers a value that the rule removes."""
        return value in self.values or len(self.values) >= OPEN_VALUES

    def confirm(self, value: int, copy: str, of: str) -> None:
        """Add a good page."""
        if len(self.values) < OPEN_VALUES:
            self.values.add(value)
        if not self.example[0]:
            self.example = copy, of

    def refute(self) -> None:
        """Begin again, after a counter-example."""
        self.good, self.refuted = 0, self.refuted + 1
        self.values.clear()


class ForeseenPage(NamedTuple):
    """A page that is known before it is downloaded."""

    content: int  #: hash of the content
    rules: tuple[RuleState, ...]  #: that lead to it


class CanonicalResult(NamedTuple):
    """A URL after all active rules."""

    fields: UrlFields
    rules: tuple[RuleState, ...] = ()  #: that have changed it


class _LearntPage(NamedTuple):
    """A page that was downloaded."""

    url: str
    purpose: str
    content: int
    fields: UrlFields  #: its URL
    form: UrlFields  #: its canonical form
    rules: tuple[RuleState, ...]  #: that have changed it
    of: str = ""  #: URL of the page that it repeats
    earlier: UrlFields | None = None  #: the canonical form of that URL

    def form_for(self, group: ChangeGroup, *, is_active: bool) -> UrlFields:
        """Return the form of its URL that tells it from the other pages of its group.

        That is the canonical form. For an active rule that changes the URL, it is the URL itself: two rules that change
        the same would else hide each other's counter-examples.
        """
        if not is_active:
            return self.form
        is_used = any(rule.group is group for rule in self.rules) or group.apply(self.fields) is not self.fields
        return self.fields if is_used else self.form


class _WatchedGroup:
    """A group of changes, and the rules with it: one for each template."""

    __slots__ = ("group", "rules", "seed", "site_wide")

    def __init__(self, group: ChangeGroup) -> None:
        self.group = group
        self.seed = hash(group)
        self.rules: dict[str, RuleState] = {}
        self.site_wide: RuleState | None = None  # None: it does not hold for other templates

    @property
    def active(self) -> list[RuleState]:
        """The rules that act."""
        own = [rule for rule in self.rules.values() if rule.is_active]
        return own if self.site_wide is None else [*own, self.site_wide]

    @property
    def rank(self) -> tuple[bool, int]:
        """Its use: a rule for one value is replaced before others, since noise has many values."""
        has_value = any(change.kind is ChangeKind.VALUE for change in self.group.changes)
        return not has_value, sum(rule.good + rule.refuted for rule in self.rules.values())

    def rule_for(self, scope: str) -> RuleState | None:
        """Return the rule that acts under a template."""
        own = self.rules.get(scope)
        if own is not None and (own.is_active or own.refuted):
            return own if own.is_active else None
        return self.site_wide

    def generalise(self) -> bool:
        """Find out whether the changes hold for the whole site; return whether that is new."""
        before, rules = self.site_wide, [rule for rule in self.rules.values() if rule.good]
        is_refuted = any(rule.refuted for rule in self.rules.values())
        is_enough = len(rules) >= SITE_SCOPES and sum(rule.good for rule in rules) >= NEEDED_GROUPS
        if is_refuted or not is_enough or any(change.kind is ChangeKind.SEGMENT for change in self.group.changes):
            self.site_wide = None
        else:
            rule = before or RuleState(self.group, SITE_WIDE, example=rules[0].example)
            rule.good, rule.values = sum(each.good for each in rules), set().union(*(each.values for each in rules))
            self.site_wide = rule
        return (before is None) != (self.site_wide is None)


class SiteRules:
    """The rules of one site, and the pages by which they are learnt and applied.

    ``purpose`` is what a request is for, such as the name of its callback: pages of different purposes are never
    compared.
    """

    def __init__(self) -> None:
        self._groups: dict[ChangeGroup, _WatchedGroup] = {}
        self._active: list[_WatchedGroup] = []
        self._urls = PageTable()  # by URLs that no rule changes: it remains true when a rule is refuted
        self._pages = PageTable()  # by what rules make of URLs, for each group of changes
        self._recent = LatestPages(RECENT_PAGES)
        self.revision = 0  #: rises whenever a rule begins or ceases to act

    @property
    def rules(self) -> list[RuleState]:
        """All rules with evidence."""
        return self.learnt_rules() + [group.site_wide for group in self._groups.values() if group.site_wide is not None]

    def learnt_rules(self) -> list[RuleState]:
        """Return the rules that were learnt from pages, without those that follow from them for the whole site."""
        return [rule for group in self._groups.values() for rule in group.rules.values()]

    @property
    def bytes(self) -> int:
        """The memory of the tables of pages."""
        return self._urls.bytes + self._pages.bytes

    # -- predictions --------------------------------------------------------------------------

    def canonical(self, fields: UrlFields) -> CanonicalResult:
        """Return the form of a URL that the active rules give it."""
        used = []
        for watched in self._active:
            changed = watched.group.apply(fields)
            if changed is fields:
                continue
            rule = watched.rule_for(template(changed))
            if rule is not None and rule.covers(_value_hash(watched.group, fields)):
                fields = changed
                used.append(rule)
        return CanonicalResult(fields, tuple(used))

    def form(self, url: str, purpose: str = "") -> int:
        """Return a hash of the canonical form of a URL; 0 as long as no rule acts."""
        return hash((purpose, self.canonical(parse_url(url)).fields)) if self._active else 0

    def predict(self, url: str, purpose: str = "") -> ForeseenPage | None:
        """Return the page whose copy a URL leads to; None if that is not known."""
        if not self._active:
            return None
        raw = parse_url(url)
        fields, used = self.canonical(raw)
        page = self._urls.get(hash((purpose, fields))) if used else None
        if page is not None and page.content != UNKNOWN:
            return ForeseenPage(page.content, used)
        scope, own = template(fields), (_form(fields), _form(raw), MIXED)
        for watched in self._active:
            rule = watched.rule_for(scope)
            page = self._pages.get(hash((purpose, watched.seed, fields))) if rule is not None else None
            if rule is not None and page is not None and page.form not in own and page.content != UNKNOWN:
                return ForeseenPage(page.content, used if rule in used else (*used, rule))
        return None

    # -- evidence -----------------------------------------------------------------------------

    def learn(self, url: str, content: int, of: str = "", purpose: str = "") -> list[RuleState]:
        """Add a page that was downloaded.

        Args:
            url: of the page.
            content: hash of its content; equal for copies; ``UNKNOWN``: it could not be compared.
            of: URL of the page that it repeats; "": none.
            purpose: what its request was for.

        Returns:
            The rules that acted and do not any more: all that was skipped by them must be requested.
        """
        page = self._read(url, content, purpose)
        for other in self._copies(page, of):
            earlier = self.canonical(parse_url(other)).fields
            self._suggest(page.form, earlier)
            if other == of:
                page = page._replace(of=of, earlier=earlier)
        refuted = self._weigh_all(page)
        self._recent.add(LatestPage(url, purpose, page.content))
        self._enter_url(page)
        return refuted

    def _copies(self, page: _LearntPage, of: str) -> list[str]:
        """Return URLs of pages with the same content: the one that the verdict names, and some recent ones."""
        same = self._recent.with_content(page.content) if page.content != UNKNOWN else []
        recent = [each.url for each in same if each.purpose == page.purpose]
        found = dict.fromkeys((*filter(None, [of]), *recent[-MAX_COPIES:]))
        return [url for url in found if url != page.url]

    def _read(self, url: str, content: int, purpose: str) -> _LearntPage:
        fields = parse_url(url)
        return _LearntPage(url, purpose, content & 0xFFFFFFFF, fields, *self.canonical(fields))

    def refute(self, rules: Iterable[RuleState], url: str = "") -> list[RuleState]:
        """Switch rules off after a prediction by all of them was wrong; return those that acted.

        Args:
            rules: that have led to the prediction.
            url: that was foreseen; other rules that change it would foresee the same.
        """
        fields = parse_url(url)
        others = [each for each in self._active if url and each.group.apply(fields) is not fields]
        found = (each.rule_for(template(each.group.apply(fields))) for each in others)
        acted = list({id(rule): rule for rule in (*rules, *filter(None, found)) if self._acts(rule)}.values())
        for rule in acted:
            watched = self._groups.get(rule.group)
            if watched is None:
                continue
            for each in self._rules_behind(watched, rule, template(watched.group.apply(fields)) if url else ""):
                each.refute()
        if acted:
            self._rebuild()
        return acted

    def _rules_behind(self, watched: _WatchedGroup, rule: RuleState, scope: str) -> list[RuleState]:
        """Return what to refute for a rule: a site-wide one ceases to hold once that of any template is refuted."""
        if rule.scope != SITE_WIDE:
            return [rule]
        if not scope:
            return list(watched.rules.values())
        return [watched.rules.setdefault(scope, RuleState(watched.group, scope))]

    def _acts(self, rule: RuleState) -> bool:
        watched = self._groups.get(rule.group)
        return watched is not None and rule in watched.active

    def _suggest(self, one: UrlFields, two: UrlFields) -> None:
        for group in differences(one, two):
            scope = template(group.apply(one))
            watched = self._groups.get(group) or self._watch(group, scope)
            if watched is not None and scope not in watched.rules:
                watched.rules[scope] = RuleState(group, scope)
                self._search_recent(watched)

    def _watch(self, group: ChangeGroup, scope: str) -> _WatchedGroup | None:
        """Begin to collect evidence, in place of the oldest group that has led to nothing."""
        if not is_storable(group, scope):
            return None
        idle = [key for key, each in self._groups.items() if not each.active and not each.site_wide]
        if len(idle) >= MAX_GROUPS:
            del self._groups[min(idle, key=lambda key: self._groups[key].rank)]
        self._groups[group] = watched = _WatchedGroup(group)
        return watched

    def _search_recent(self, watched: _WatchedGroup) -> None:
        for url, purpose, content in self._recent:
            self._weigh(watched, self._read(url, content, purpose))

    def _weigh_all(self, page: _LearntPage) -> list[RuleState]:
        acted: list[RuleState] = []
        has_changed = False
        for watched in list(self._groups.values()):
            before = watched.active
            if self._weigh(watched, page):
                watched.generalise()
                now = watched.active
                acted += [rule for rule in before if rule not in now]
                has_changed |= len(before) != len(now)
        if has_changed:
            self._rebuild(forget=bool(acted))
        return acted

    def _weigh(self, watched: _WatchedGroup, page: _LearntPage) -> bool:
        """Add a page to its group; return whether the evidence has changed."""
        key = watched.group.apply(page.form)
        scope = template(key)
        rule = watched.rules.get(scope)
        if rule is None and watched.site_wide is not None:
            rule = watched.rules[scope] = RuleState(watched.group, scope)
        if rule is None:
            return False
        own = page.form_for(watched.group, is_active=watched in self._active)
        place, entry = hash((page.purpose, watched.seed, key)), TableEntry(page.content, _form(own))
        first = self._pages.get(place) or self._first_of(watched, page, key)
        if first is None:
            self._pages.put(place, entry)
            return False
        if first.form in (entry.form, MIXED):
            return False
        if first.content != page.content or page.content == UNKNOWN:
            self._pages.put(place, first._replace(form=MIXED))
            rule.refute()
            return True
        rule.good += not first.counted
        self._confirm(rule, own, page, key)
        self._pages.put(place, first._replace(counted=True))
        return True

    def _first_of(self, watched: _WatchedGroup, page: _LearntPage, key: UrlFields) -> TableEntry | None:
        """Return a page of a group that was downloaded before the group was watched."""
        if page.earlier is not None and watched.group.apply(page.earlier) == key:
            form = parse_url(page.of) if watched in self._active else page.earlier
            return TableEntry(page.content, _form(form))
        return self._urls.get(hash((page.purpose, key)))

    def _confirm(self, rule: RuleState, own: UrlFields, page: _LearntPage, key: UrlFields) -> None:
        """Add the values of a copy to the evidence, and those of the page that it repeats."""
        rule.confirm(_value_hash(rule.group, own), page.url, page.of)
        if page.earlier is not None and rule.group.apply(page.earlier) == key:
            rule.confirm(_value_hash(rule.group, page.earlier), page.url, page.of)

    def _rebuild(self, *, forget: bool = True) -> None:
        """Find the active rules again. ``forget``: what was derived from a rule that does not act any more."""
        for watched in self._groups.values():
            watched.generalise()
        self._active = [each for each in self._groups.values() if each.active]
        self._active.sort(key=lambda each: each.group)
        self.revision += 1
        if forget:
            self._pages.clear()
        for url, purpose, content in self._recent:
            page = self._read(url, content, purpose)
            self._enter_url(page)
            for watched in self._active:
                self._enter(watched, page)

    def _enter_url(self, page: _LearntPage) -> None:
        """Add a page under its URL, unless active rules change that: no other URL leads to it then."""
        if not page.rules:
            self._urls.put(hash((page.purpose, page.fields)), TableEntry(page.content, _form(page.fields)))

    def _enter(self, watched: _WatchedGroup, page: _LearntPage) -> None:
        """Add a page to its group without counting it as evidence."""
        place = hash((page.purpose, watched.seed, watched.group.apply(page.form)))
        if self._pages.get(place) is None:
            own = page.form_for(watched.group, is_active=True)
            self._pages.put(place, TableEntry(page.content, _form(own), counted=True))

    # -- evidence of others -------------------------------------------------------------------

    def adopt(self, text: str) -> RuleState | None:
        """Return the rule with this text, whose evidence another crawl or worker has collected.

        None for what is no rule. The caller sets its evidence, and calls :meth:`adopted` then.
        """
        try:
            group, scope = parse_rule(text)
        except DamageError:
            return None
        watched = self._groups.get(group) or self._watch(group, scope)
        if watched is None or scope == SITE_WIDE:
            return None
        return watched.rules.setdefault(scope, RuleState(group, scope))

    def adopted(self, before: Iterable[RuleState]) -> list[RuleState]:
        """Apply evidence that was set; return the rules of ``before``, which acted, that do not any more."""
        acted = [*before]
        self._rebuild(forget=False)
        lost = [rule for rule in acted if not self._acts(rule)]
        if lost:
            self._rebuild(forget=True)
        return lost

    def active_rules(self) -> Iterator[RuleState]:
        """Yield the rules that act."""
        for watched in self._active:
            yield from watched.active


def is_storable(group: ChangeGroup, scope: str) -> bool:
    """Whether the text of a rule can be a key of a note, and is read as the same rule."""
    text = rule_text(group, scope)
    try:
        return text.isascii() and len(text) <= MAX_RULE_CHARS and parse_rule(text) == (group, scope)
    except DamageError:
        return False


def _form(fields: UrlFields) -> int:
    return hash(fields) & 0x7FFFFFFF or 1


def _value_hash(group: ChangeGroup, fields: UrlFields) -> int:
    """Return a hash of the values that a rule removes from a URL; the same in all processes."""
    return crc32("\0".join(group.removed(fields)).encode("utf-8", "surrogatepass"))
