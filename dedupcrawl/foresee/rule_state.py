"""A rule of a site, and its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING

from dedupcrawl.foresee.url_rules import ChangeKind, rule_text
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from dedupcrawl.foresee.url_rules import ChangeGroup

TRUST = 0.90  #: lowest share of right predictions, by the bound below, from which a rule acts
CONFIDENCE_Z = 1.645  #: quantile of the normal distribution: one-sided, 95 %
PROMISING_GROUPS = 2  #: good groups from which other requests wait for the evidence of a rule
OPEN_VALUES = 6  #: different values of good pages, after which a rule applies to any value
MAX_REFUTED = 6  #: doublings of the evidence that a rule needs
SITE_SCOPES = 2
SITE_WIDE = "*"  #: scope of a rule that holds under at least ``SITE_SCOPES`` templates


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
    is_suggested: bool = False  #: whether a page has named its canonical URL, which is no evidence

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

    @property
    def is_promising(self) -> bool:
        """Whether it has evidence and does not act yet; one that a page has suggested itself is tested earlier."""
        return (1 if self.is_suggested else PROMISING_GROUPS) <= self.good < self.needed

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
        self.good, self.refuted, self.is_suggested = 0, self.refuted + 1, False
        self.values.clear()


class WatchedGroup:
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
    def is_promising(self) -> bool:
        """Whether a rule has evidence and does not act yet."""
        return any(rule.is_promising for rule in self.rules.values())

    @property
    def is_unproven(self) -> bool:
        """Whether pages have suggested it, and no verdict says anything about it."""
        rules = self.rules.values()
        return any(rule.is_suggested for rule in rules) and not any(rule.good or rule.refuted for rule in rules)

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
