"""Which requests of a crawl are evidence for rules that do not act yet, so that others need not be sent for them.

A rule needs so many groups of pages, and one page of a group is enough. A further page of the group, and pages of more
groups than the rule needs, wait: they are sent when no other requests are left, or foreseen once the rule acts. So no
rule acts on less evidence, and none is paid for twice.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.crawl.foreseen_requests import POSTPONED

if TYPE_CHECKING:
    from scrapy import Request

    from dedupcrawl.foresee.rule_learner import ExpectedEvidence, GroupEvidence
    from dedupcrawl.foresee.rule_state import RuleState

MAX_TURNS = 3  #: how often a request waits for the evidence of rules when no page is under way that may be some
MAX_SECONDS = 60.0  #: for which a page under way is waited for
PAUSE = 0.1  #: seconds for which a request that waits again is held back, if there are no others


class EvidenceRegistry:
    """The requests under way whose pages are evidence, and for how many groups of a rule."""

    def __init__(self) -> None:
        self._urls: dict[int, str] = {}  # by the form that rules would give it: the URL of the request under way
        self._awaited: dict[str, tuple[int, list[str], float]] = {}  # by URL: form, rules that gain a group, when sent
        self._gains: Counter[str] = Counter()  # groups under way, by the text of the rule

    @property
    def is_under_way(self) -> bool:
        """Whether a page is under way that may be evidence. One that is not judged for long is not waited for."""
        sent = next(reversed(self._awaited.values()), None)
        return sent is not None and time.monotonic() - sent[2] < MAX_SECONDS

    def waits(self, request: Request, expected: ExpectedEvidence) -> bool:
        """Whether a request is to be sent later, since its page would be no evidence that a rule needs.

        Args:
            request: that can be skipped.
            expected: what its page would be evidence for.
        """
        has_waited = int(request.meta.get(POSTPONED, 0)) >= MAX_TURNS
        if not expected.key or (has_waited and not self.is_under_way):
            return False
        if any(self._is_enough(each) for each in expected.groups):
            return True
        is_copy = expected.is_copy or self._urls.get(expected.key, request.url) != request.url
        return is_copy and not any(map(self._is_needed, expected.groups))

    def _is_enough(self, group: GroupEvidence) -> bool:
        return self._has_groups(group.rule) or (group.is_covered and not group.is_new)

    def _is_needed(self, group: GroupEvidence) -> bool:
        return group.is_new and not self._has_groups(group.rule)

    def _has_groups(self, rule: RuleState) -> bool:
        return rule.good + self._gains[rule.text] >= rule.needed

    def sent(self, url: str, expected: ExpectedEvidence) -> None:
        """Remember a request until :meth:`forget`; ``expected``: what its page would be evidence for."""
        if not expected.key:
            return
        self.forget(url)
        self._urls.setdefault(expected.key, url)
        texts = [each.rule.text for each in expected.groups if each.is_new]
        self._gains.update(texts)
        self._awaited[url] = expected.key, texts, time.monotonic()

    def forget(self, url: str) -> None:
        """Forget a request: its page was judged, or will not be."""
        key, texts, _ = self._awaited.pop(url, (0, [], 0.0))
        if self._urls.get(key) == url:
            del self._urls[key]
        for text in texts:
            self._gains[text] -= 1
            if self._gains[text] <= 0:
                del self._gains[text]
