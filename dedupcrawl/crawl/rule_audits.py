"""The audit of rules at the end of a crawl: a sample of what the rules have skipped is downloaded after all.

The sample of a site is so large that, if more than ``WRONG_SHARE`` of its skipped requests are wrong, one of them is
found with a probability of ``CONFIDENCE``. Wrong is a page that is no copy, or that leads to a page which nothing else
leads to. Each rule has its share of the sample, and ``RULE_PROBES`` at least. On a site where a rule was wrong, each of
the others is audited by itself: its sample is as large as that of a site. So is a rule one of whose probes during the
crawl had a link that was new, and these probes do not count: their pages are not judged by what they lead to.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

WRONG_SHARE = 0.10
CONFIDENCE = 0.95
RULE_PROBES = 10  #: of each rule at least: one of which more than 26 % is wrong is found with the same probability
LATEST = 4  #: requests that were skipped last are always part of the sample: a site may have changed
MAX_SAMPLE = 32  #: keys in memory, of each rule


@lru_cache(maxsize=1024)
def audit_size(requests: int) -> int:
    """Return how many of so many foreseen requests must be verified.

    >>> audit_size(5), audit_size(50), audit_size(100_000)
    (5, 22, 29)
    """
    wrong = ceil(WRONG_SHARE * requests)
    missed, size = 1.0, 0
    while size < requests and missed > 1 - CONFIDENCE:
        missed *= max(0, requests - wrong - size) / (requests - size)
        size += 1
    return size


@dataclass(slots=True)
class RuleSample:
    """The requests that a rule has skipped in this crawl, and the probes of it."""

    skipped: int = 0
    audited: int = 0  #: probes of the audit that were copies
    earlier: int = 0  #: the same, of the crawl before
    is_suspect: bool = False  #: a probe of the crawl had links that were new: their pages are not judged as its own are
    is_over: bool = False  #: it is verified, or all that it has skipped is sent
    _sample: list[bytes] = field(default_factory=list)
    _latest: deque[bytes] = field(default_factory=lambda: deque(maxlen=LATEST))

    def add(self, key: bytes, chance: Random) -> None:
        """Add a skipped request; each has the same chance to be in the sample."""
        self.skipped += 1
        self.is_over = False
        self._latest.append(key)
        if len(self._sample) < MAX_SAMPLE:
            self._sample.append(key)
        elif (index := chance.randrange(self.skipped)) < MAX_SAMPLE:
            self._sample[index] = key

    @property
    def foreseen(self) -> int:
        """The number of requests of which the probes are a sample."""
        return self.skipped + self.right - self.audited

    @property
    def right(self) -> int:
        """The probes that were copies; those before the audit do not count if one of them had links that were new."""
        return self.audited + (0 if self.is_suspect else self.earlier)

    def choose(self, count: int, sent: set[bytes], *, is_first: bool) -> list[bytes]:
        """Return up to so many requests that were not sent, the latest ones first; all of those the first time."""
        latest = [key for key in dict.fromkeys(self._latest) if key not in sent] if is_first else []
        others = [key for key in self._sample if key not in sent and key not in latest]
        return latest + others[: max(0, count - len(latest))]

    def holds(self, key: bytes) -> bool:
        """Whether a request is part of the sample."""
        return key in self._sample or key in self._latest


class SiteSample:
    """The samples of all rules of a site.

    Args:
        chance: chooses them.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._rules: dict[str, RuleSample] = {}
        self._sent: set[bytes] = set()
        self._audited: set[str] = set()  # rules of which probes were sent
        self._was_wrong = False

    def add(self, rules: Iterable[str], key: bytes) -> None:
        """Add a request that these rules have skipped."""
        for text in rules:
            self._rules.setdefault(text, RuleSample()).add(key, self._chance)

    def confirm(self, rules: Iterable[str], *, was_skipped: bool) -> None:
        """Count a probe of these rules that was a copy; ``was_skipped``: it was sent for the audit."""
        for text in rules:
            sample = self._rules.setdefault(text, RuleSample())
            sample.audited += was_skipped
            sample.earlier += not was_skipped

    def suspect(self, rule: str) -> None:
        """Audit a rule by itself: a copy that it foresaw had a link that no other page had until then."""
        sample = self._rules.setdefault(rule, RuleSample())
        sample.is_suspect, sample.is_over = True, False

    def remove(self, rules: Iterable[str]) -> None:
        """Remove revoked rules: the others are audited one by one from now on."""
        removed = [self._rules.pop(text) for text in rules if text in self._rules]
        if not removed:
            return
        self._was_wrong = True
        for sample in self._rules.values():
            sample.is_over = False

    def missing(self, text: str) -> int:
        """Return how many more probes of a rule must be copies."""
        sample = self._rules[text]
        return self._needed(sample) - sample.right

    def _needed(self, sample: RuleSample) -> int:
        if self._was_wrong or sample.is_suspect:
            return audit_size(sample.foreseen)
        foreseen = sum(each.foreseen for each in self._rules.values())
        part = ceil(audit_size(foreseen) * sample.foreseen / foreseen) if foreseen else 0
        return max(part, min(RULE_PROBES, sample.foreseen))

    def next_probes(self) -> tuple[dict[bytes, str], list[str]]:
        """Return the requests to send now, each with the rule that it probes, and the rules that cannot be verified.

        There are none of either once each rule is verified.
        """
        probes: dict[bytes, str] = {}
        unverified = []
        for text, sample in self._rules.items():
            if sample.is_over or not sample.skipped:
                continue
            count = self.missing(text) - sum(map(sample.holds, probes))
            chosen = sample.choose(count, self._sent | probes.keys(), is_first=text not in self._audited)
            probes.update(dict.fromkeys(chosen, text))
            sample.is_over = not chosen and self.missing(text) <= 0
            if not chosen and count > 0:
                sample.is_over = True
                unverified.append(text)
            self._audited.add(text)
        self._sent.update(probes)
        return probes, unverified
