"""What the log and the report say of the rules by which copies are foreseen."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from dedupcrawl.foresee.rule_state import SITE_WIDE
from dedupcrawl.foresee.url_rules import discarder_rule
from dedupcrawl.ledger.ledger_schema import RuleRow
from dedupcrawl.utils.formatting import share
from dedupcrawl.utils.messages import ENGLISH, mark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.foresee.rule_state import RuleState
    from dedupcrawl.utils.messages import MessageTable

logger = logging.getLogger(__name__)

SUMMARY_RULES = 5  #: in the summary of the log

_FORESEEN = mark(
    "Foreseen: %(foreseen)d of %(all)d requests (%(share)s) lead to copies of pages of this crawl; %(fate)s"
)
_OBSERVED = mark(
    'DEDUP_FORESEE = "skip" does not send such requests (%(probes)d were compared, %(probes_wrong)d were no copies)'
)
_ACTED = mark(
    "%(skipped)d were not sent; %(probes)d were, %(probes_wrong)d of these are no copies; %(revoked)d rules revoked"
)


def log_requests(
    crawler: Crawler, counts: Mapping[str, int], decided: int, texts: MessageTable = ENGLISH, *, is_observed: bool
) -> None:
    """Log how many requests were foreseen to lead to copies.

    Args:
        crawler: the crawl.
        counts: its counters, without their prefix.
        decided: requests of the crawl.
        texts: those of the language of the summary.
        is_observed: whether all requests were sent as ever.
    """
    numbers = {name: counts[name] for name in ("skipped", "probes", "probes_wrong", "revoked")}
    fate = texts.text(_OBSERVED if is_observed else _ACTED) % numbers
    foreseen = counts["foreseen"]
    what = {"foreseen": foreseen, "all": decided, "share": share(foreseen, decided), "fate": fate}
    logger.info(texts.text(_FORESEEN), what, extra={"spider": crawler.spider})


def log_rules(crawler: Crawler, rules: Sequence[RuleState], texts: MessageTable = ENGLISH) -> None:
    """Log the rules that have foreseen a page, the most useful first; ``texts``: of the language of the summary."""
    shown = [f"{rule.text} ({rule.numbers})" for rule in rules[:SUMMARY_RULES]]
    hidden = len(rules) - SUMMARY_RULES
    more = texts.text(", and {n} more", n=hidden) if hidden > 0 else ""
    logger.info(texts.text("Rules: %(rules)s"), {"rules": ", ".join(shown) + more}, extra={"spider": crawler.spider})


def rule_row(site: str, rule: RuleState) -> RuleRow:
    """Return a rule as the report shows it."""
    discarder = None if rule.scope == SITE_WIDE else discarder_rule(rule.text)
    return RuleRow(
        site=site,
        text=rule.text,
        groups=rule.good,
        requests=rule.requests,
        probes=rule.probes,
        wrong=rule.wrong,
        active=rule.is_active,
        copy=rule.example[0],
        of=rule.example[1],
        discarder="" if discarder is None else json.dumps(discarder),
    )
