"""Learns the rules of a site from the verdicts on its pages.

A dropped page and the page that it repeats differ in their URLs: this suggests a rule. Its evidence are *groups*: all
pages whose URLs the rule makes equal. A group whose pages have the same content is good evidence, however many there
are. A page with other content is a counter-example: the rule begins again, and needs twice as many groups.

A rule acts from ``NEEDED_GROUPS`` good groups without a counter-example. It applies to values that were part of the
evidence only, unless it has seen ``OPEN_VALUES`` different ones: ``?page=1`` repeats a page, ``?page=2`` does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from dedupcrawl.errors import DamageError
from dedupcrawl.foresee.page_table import LatestPage, LatestPages, PageTable, TableEntry
from dedupcrawl.foresee.rule_state import SITE_WIDE, RuleState, WatchedGroup
from dedupcrawl.foresee.url_rules import (
    MAX_RULE_CHARS,
    ChangeGroup,
    differences,
    parse_rule,
    parse_url,
    rule_text,
    template,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.foresee.url_rules import UrlFields

MAX_GROUPS = 24  #: groups of changes that a site is watched for, without those of active rules
MAX_SUGGESTED = 4  #: of them, those that pages suggest and no verdict has confirmed
RECENT_PAGES = 256  #: pages in which the evidence for a new rule is looked for
MAX_COPIES = 3  #: of them with which a copy is compared
#: Content of a page that could not be compared: it is no copy, and nothing is foreseen to be a copy of it.
UNKNOWN = 0xFFFFFFFF
MIXED = 0  #: form of a group with different contents: it is a counter-example once, and foresees nothing


class ForeseenPage(NamedTuple):
    """A page that is known before it is downloaded."""

    content: int  #: hash of the content
    rules: tuple[RuleState, ...]  #: that lead to it


class GroupEvidence(NamedTuple):
    """A group of known pages to which the page of a URL would belong, of a rule that does not act yet."""

    rule: RuleState
    is_new: bool  #: whether the group is not counted as evidence yet
    is_covered: bool  #: whether the evidence covers the values of the URL


class ExpectedEvidence(NamedTuple):
    """What the page of a URL would be evidence for."""

    key: int  #: of the form of the URL that all rules with evidence would give it; 0: there are none
    is_copy: bool  #: whether a page with this form is known
    groups: tuple[GroupEvidence, ...]


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


class SiteRules:
    """The rules of one site, and the pages by which they are learnt and applied.

    ``purpose`` is what a request is for, such as the name of its callback: pages of different purposes are never
    compared.
    """

    def __init__(self) -> None:
        self._groups: dict[ChangeGroup, WatchedGroup] = {}
        self._active: list[WatchedGroup] = []
        self._promising: list[WatchedGroup] = []  # with rules that do not act yet
        self._urls = PageTable()  # by URLs that no rule changes: it remains true when a rule is refuted
        self._pages = PageTable()  # by what rules make of URLs, for each group of changes
        self._joint: PageTable | None = (
            None  # by the forms that promising rules would give URLs; None: nobody has asked
        )
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
        return sum(table.bytes for table in (self._urls, self._pages, self._joint) if table is not None)

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

    def expected_evidence(self, url: str, purpose: str = "") -> ExpectedEvidence:
        """Return what the page of a URL would be evidence for, if it were downloaded."""
        if self._joint is None:
            self._joint = PageTable()
            self._find_promising()
        fields = self.canonical(parse_url(url)).fields
        key = hash((purpose, self._joint_form(fields)))
        known = self._joint.get(key) if self._promising else None
        is_copy = known is not None and known.form != _form(fields) and known.content != UNKNOWN
        return ExpectedEvidence(key if self._promising else 0, is_copy, tuple(self._groups_of(fields, purpose)))

    def _groups_of(self, fields: UrlFields, purpose: str) -> Iterator[GroupEvidence]:
        own = _form(fields)
        for watched in self._promising:
            changed = watched.group.apply(fields)
            rule = watched.rules.get(template(changed))
            if rule is None or not rule.is_promising:
                continue
            key = hash((purpose, watched.seed, changed))
            first = self._pages.get(key) or self._urls.get(hash((purpose, changed)))
            if first is not None and first.form not in (own, MIXED) and first.content != UNKNOWN:
                is_covered = changed is fields or rule.covers(_value_hash(watched.group, fields))
                yield GroupEvidence(rule, is_new=not first.counted, is_covered=is_covered)

    def _joint_form(self, fields: UrlFields) -> UrlFields:
        """Return the form of a URL that the rules would give it that have evidence, if they acted."""
        for watched in self._promising:
            changed = watched.group.apply(fields)
            if changed is not fields:
                rule = watched.rules.get(template(changed))
                if rule is not None and rule.is_promising and rule.covers(_value_hash(watched.group, fields)):
                    fields = changed
        return fields

    def _enter_joint(self, joint: PageTable, page: LatestPage) -> None:
        form = self.canonical(parse_url(page.url)).fields
        key = hash((page.purpose, self._joint_form(form)))
        if self._promising and joint.get(key) is None:
            joint.put(key, TableEntry(page.content, _form(form)))

    def _is_made_up(self, group: ChangeGroup) -> bool:
        """Whether rules for each of several changes have evidence: one for all of them is not needed then."""
        singles = [self._groups.get(ChangeGroup((change,))) for change in group.changes]
        return len(singles) > 1 and all(each is not None and (each.is_promising or each.active) for each in singles)

    def _find_promising(self) -> None:
        """Find the rules again that have evidence and do not act yet."""
        found = [each for each in self._groups.values() if each.is_promising and not self._is_made_up(each.group)]
        found.sort(key=lambda each: each.group)
        if found != self._promising and self._joint is not None:
            self._promising = found
            self._joint.clear()
            for page in self._recent:
                self._enter_joint(self._joint, page)

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
        self._recent.add(latest := LatestPage(url, purpose, page.content))
        self._enter_url(page)
        if self._joint is not None:
            self._find_promising()
            self._enter_joint(self._joint, latest)
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

    def _rules_behind(self, watched: WatchedGroup, rule: RuleState, scope: str) -> list[RuleState]:
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

    def suggest(self, url: str, canonical: str) -> None:
        """Watch for evidence of the rule by which a page differs from the URL that it calls canonical.

        That is no evidence: a page can name any URL. So there is room for a few such rules only, and none of them takes
        the place of a rule that was learnt from verdicts.

        Args:
            url: of the page.
            canonical: the URL that it names, of the same site.
        """
        one, two = self.canonical(parse_url(url)).fields, self.canonical(parse_url(canonical)).fields
        for group in differences(one, two):
            scope = template(group.apply(one))
            watched = self._groups.get(group) or self._watch_suggested(group, scope)
            if watched is not None and scope not in watched.rules:
                watched.rules[scope] = RuleState(group, scope, is_suggested=True)

    def _watch_suggested(self, group: ChangeGroup, scope: str) -> WatchedGroup | None:
        """Watch a group of changes that a page suggests, if there is room."""
        unproven = [key for key, each in self._groups.items() if each.is_unproven]
        idle = [each for each in self._groups.values() if not each.active and not each.site_wide]
        if len(unproven) >= MAX_SUGGESTED:
            del self._groups[unproven[0]]
        elif len(idle) >= MAX_GROUPS:
            return None
        return self._watch(group, scope)

    def _watch(self, group: ChangeGroup, scope: str) -> WatchedGroup | None:
        """Begin to collect evidence, in place of the oldest group that has led to nothing."""
        if not is_storable(group, scope):
            return None
        idle = [key for key, each in self._groups.items() if not each.active and not each.site_wide]
        if len(idle) >= MAX_GROUPS:
            unproven = [key for key in idle if self._groups[key].is_unproven]
            del self._groups[min(unproven or idle, key=lambda key: self._groups[key].rank)]
        self._groups[group] = watched = WatchedGroup(group)
        return watched

    def _search_recent(self, watched: WatchedGroup) -> None:
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

    def _weigh(self, watched: WatchedGroup, page: _LearntPage) -> bool:
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

    def _first_of(self, watched: WatchedGroup, page: _LearntPage, key: UrlFields) -> TableEntry | None:
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

    def _enter(self, watched: WatchedGroup, page: _LearntPage) -> None:
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
