"""A page, and the earlier pages by which it is judged, under one configuration or another."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.filing import Filer, Unfit
from dedupcrawl.judging import Judge
from dedupcrawl.policy import Policy, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.judging import Finding
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Candidate, Record, Store
    from dedupcrawl.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Case:
    """What a verdict rests on."""

    url: str
    record: Record
    earlier: tuple[Candidate, ...]  #: the pages that it met, or is held against as if it had

    def findings(self, config: Config) -> list[Finding]:
        """Return the related pages, the most telling first."""
        judge = Judge(build_detectors(config))
        return judge.findings(self.record, self.earlier, versions=True)

    def verdict(self, config: Config) -> Verdict:
        """Judge it under a configuration, as the crawl does."""
        policy = Policy(config.drop, config.keep)
        return policy.verdict(self.url, self.record, self.findings(config))

    def beside(self, others: Iterable[Candidate]) -> Case:
        """Return it with these among the earlier pages."""
        earlier = {each.id: each for each in (*self.earlier, *others)}
        return replace(self, earlier=tuple(each for _, each in sorted(earlier.items())))

    def refiled(self, config: Config) -> Case:
        """Return it as in a store that was filled under ``config``: other pages share a key there.

        Those of which that cannot be told from their sketches stay, see :meth:`may_part`.
        """
        detectors = build_detectors(config)
        meets = (each for each in self.earlier if _meet(detectors, self.record, each.record) is not False)
        return replace(self, earlier=tuple(meets))

    def may_part(self, config: Config) -> bool:
        """Whether an earlier page is among them of which nobody knows that it is met under ``config``."""
        detectors = build_detectors(config)
        return any(_meet(detectors, self.record, each.record) is None for each in self.earlier)


def _meet(detectors: Iterable[Detector], new: Record, old: Record) -> bool | None:
    """Say whether two pages share a key of these detectors; None: their sketches do not tell."""
    if new.url and new.url == old.url:
        return True
    told: list[bool | None] = []
    for detector, mine, other in zip(detectors, new.sketches, old.sketches, strict=False):
        if mine and other:
            keys, others = detector.keys_of(mine), detector.keys_of(other)
            told.append(None if keys is None or others is None else not {*keys}.isdisjoint(others))
    return True if True in told else None if None in told else False


def filed(page: Page, config: Config, store: Store) -> Case | Verdict:
    """Fingerprint a page under a configuration and look whom it meets, or say why it stays unchecked."""
    filer = Filer(build_detectors(config), config.min_chars, time.time, fold_chinese=config.fold_chinese)
    record = filer.file(page)
    if isinstance(record, Unfit):
        return unchecked(page.url, record.reason)
    return Case(page.url, record, store.find(record.looks_under))


def verdict_on(page: Page, config: Config, store: Store) -> Verdict:
    """Judge a page under a configuration by all that the store holds."""
    case = filed(page, config, store)
    return case.verdict(config) if isinstance(case, Case) else case
