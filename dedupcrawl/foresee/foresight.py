"""The rules of all sites of a crawl, and their exchange with the store, which other workers share.

Evidence is counts. A worker adds what it has counted since the last exchange, and gets the totals of all workers. So a
rule that one worker refutes ceases to act at all others with their next exchange.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from dedupcrawl.foresee.rule_learner import SiteRules
from dedupcrawl.foresee.rule_state import SITE_WIDE, RuleState
from dedupcrawl.foresee.url_rules import parse_url, template
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.foresee.url_rules import UrlFields
    from dedupcrawl.stores.notes import NoteTables

MAX_SITES = 512  #: in memory; those that were met longest ago are loaded again
MAX_STORED_RULES = 64  #: of one site
STORED_GROUPS = 5  #: good groups from which the evidence for a rule is stored
MAX_EXAMPLE_CHARS = 500  #: of a URL that is shown as an example

RULES, COUNTS = "rules", "rule-counts"  #: tables: what is known of a rule, and its counts
_COUNTED = ("good", "refuted", "probes", "wrong", "skipped")  #: fields of a rule that workers add up

RuleCounts = tuple[int, ...]  #: in the order of ``_COUNTED``


@dataclass(frozen=True, slots=True)
class SiteEvidence:
    """What is sent to the store about the rules of a site, or comes from there."""

    counts: Mapping[str, RuleCounts]  #: by the text of a rule
    described: Mapping[str, bytes] = field(default_factory=dict)  #: values and examples by the text of a rule


@dataclass(slots=True)
class _SiteState:
    """The rules of a site, and what the store knows of them."""

    rules: SiteRules = field(default_factory=SiteRules)
    stored: dict[str, RuleCounts] = field(default_factory=dict)  #: totals at the last exchange
    described: dict[str, bytes] = field(default_factory=dict)  #: as the store has it
    is_loaded: bool = False


class ForesightRegistry:
    """The rules of the sites that a crawl meets."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, _SiteState] = OrderedDict()

    def __iter__(self) -> Iterator[tuple[str, SiteRules]]:
        """Yield the sites in memory with their rules."""
        return ((site, state.rules) for site, state in self._sites.items())

    def knows(self, site: str) -> bool:
        """Whether the store was asked for the rules of a site."""
        state = self._sites.get(site)
        return state is not None and state.is_loaded

    def rules(self, site: str) -> SiteRules:
        """Return the rules of a site."""
        state = self._sites.get(site)
        if state is None:
            state = self._sites[site] = _SiteState()
            while len(self._sites) > MAX_SITES:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(site)
        return state.rules

    # -- exchange -----------------------------------------------------------------------------

    def outgoing(self, site: str) -> SiteEvidence:
        """Return what was learnt about a site since the last exchange."""
        self.rules(site)
        state = self._sites[site]
        counts, described = {}, {}
        for rule in state.rules.learnt_rules():
            text, now = rule.text, _counts(rule)
            before = state.stored.get(text, (0,) * len(_COUNTED))
            if text in state.stored or rule.good >= STORED_GROUPS or rule.refuted:
                counts[text] = tuple(one - two for one, two in zip(now, before, strict=True))
                told = _description(rule)
                if told != state.described.get(text):
                    described[text] = told
        return SiteEvidence(counts, described)

    def incoming(self, site: str, sent: SiteEvidence, received: SiteEvidence) -> list[RuleState]:
        """Take over the totals of all workers; return the rules that acted and do not any more."""
        self.rules(site)
        state = self._sites[site]
        acted, refuted = [*state.rules.active_rules()], set[str]()
        for text, totals in received.counts.items():
            rule = state.rules.adopt(text)
            if rule is not None:
                before = state.stored.get(text, (0,) * len(_COUNTED))
                if _take_over(rule, totals, before, sent.counts.get(text, (0,) * len(_COUNTED))):
                    refuted.add(text)
                _describe(rule, received.described.get(text))
                state.stored[text] = totals
        state.described.update(received.described)
        state.is_loaded = True
        lost = state.rules.adopted(acted) if received.counts else []
        # One that others have refuted, and learnt again since, was wrong when it was used here.
        return lost + [rule for rule in acted if rule.text in refuted and rule not in lost]


def exchange(notes: NoteTables, site: str, sent: SiteEvidence) -> SiteEvidence:
    """Add evidence to that in the store, and return the totals of all rules of the site. May be called in any thread.

    Raises ``StoreError``.
    """
    if sent.described:
        values = {text.encode(): value for text, value in sent.described.items()}
        notes.write(RULES, site, values, MAX_STORED_RULES)
    described = {key.decode("ascii", "replace"): value for key, value in notes.read_all(RULES, site).items()}
    texts = {**sent.counts, **described}
    deltas = {
        _key(text, name): delta for text in texts for name, delta in zip(_COUNTED, _sent(sent, text), strict=True)
    }
    totals = notes.add(COUNTS, site, deltas) if deltas else {}
    counts = {text: tuple(totals[_key(text, name)] for name in _COUNTED) for text in texts}
    return SiteEvidence(counts, described)


def stored_rules(notes: NoteTables, site: str) -> Sequence[RuleState]:
    """Return the rules of a site in a store, for people; raises ``StoreError``."""
    registry, nothing = ForesightRegistry(), SiteEvidence({})
    registry.incoming(site, nothing, exchange(notes, site, nothing))
    return registry.rules(site).rules


def rule_sentences(notes: NoteTables, url: str) -> tuple[str, ...]:
    """Say of each rule in a store that changes a URL whether it acts, and by what evidence; raises ``StoreError``."""
    fields = parse_url(url)
    found = []
    for rule in stored_rules(notes, site_of(url)):
        changed = rule.group.apply(fields)
        if changed is not fields and rule.scope in (template(changed), SITE_WIDE):
            found.append(_sentence(rule, changed))
    return tuple(found)


def _sentence(rule: RuleState, changed: UrlFields) -> str:
    acts = "acts" if rule.is_active else f"does not act ({counted(rule.needed, 'group')} needed)"
    evidence = f"{counted(rule.good, 'group')} of pages, {counted(rule.refuted, 'counter-example')} before"
    example = f"; {rule.example[0]} repeats {rule.example[1]}" if rule.example[1] else ""
    return f"{rule.text} {acts}: {evidence}; {rule.numbers}{example}. It makes the URL {changed.url}"


def _sent(sent: SiteEvidence, text: str) -> RuleCounts:
    return sent.counts.get(text, (0,) * len(_COUNTED))


def _key(text: str, name: str) -> bytes:
    return f"{text}\0{name}".encode()


def _counts(rule: RuleState) -> RuleCounts:
    return tuple(getattr(rule, name) for name in _COUNTED)


def _take_over(rule: RuleState, totals: RuleCounts, before: RuleCounts, sent: RuleCounts) -> bool:
    """Set the counts of a rule to the totals, and what it has counted since; return whether others have refuted it."""
    for name, now, total, old, new in zip(_COUNTED, _counts(rule), totals, before, sent, strict=True):
        setattr(rule, name, total + now - old - new)
    is_refuted = totals[1] > before[1] + sent[1]
    if is_refuted:
        rule.values.clear()
    return is_refuted


def _description(rule: RuleState) -> bytes:
    copy, of = (url[:MAX_EXAMPLE_CHARS] for url in rule.example)
    return orjson.dumps({"values": sorted(rule.values), "copy": copy, "of": of})


def _describe(rule: RuleState, value: bytes | None) -> None:
    """Add what others know of a rule; a damaged note adds nothing."""
    try:
        known = orjson.loads(value or b"{}")
        rule.values.update(int(each) for each in known.get("values", ()))
        if not rule.example[0]:
            rule.example = str(known.get("copy", "")), str(known.get("of", ""))
    except (ValueError, TypeError, AttributeError):
        return
