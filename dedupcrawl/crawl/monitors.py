"""Monitors for spidermon: they fail if somebody should look at a crawl that has ended.

They need the extra ``spidermon``. Thresholds are settings: ``SPIDERMON_DEDUP_MAX_DUPLICATES`` (0.9),
``SPIDERMON_DEDUP_MAX_UNCHECKED`` (0.5), both shares of 0…1, and ``SPIDERMON_DEDUP_MIN_PAGES`` (20).
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from spidermon import Monitor, MonitorSuite, monitors

from dedupcrawl.crawl.context import context_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

_SITES_SHOWN = 5


class _CrawlMonitor(Monitor):  # type: ignore[misc]
    """Base class of the monitors."""

    @property
    def _stats(self) -> Mapping[str, Any]:
        stats: Mapping[str, Any] = self.data.stats
        return stats

    def _setting(self, name: str, default: float) -> float:
        settings: BaseSettings = self.data.crawler.settings
        return settings.getfloat(f"SPIDERMON_DEDUP_{name}", default)

    @property
    def _min_pages(self) -> float:
        return self._setting("MIN_PAGES", 20)


@monitors.name("Duplicates by site")
class SiteDuplicatesMonitor(_CrawlMonitor):
    """Fails if nearly all pages of a site repeat other pages: the site is a mirror, or is misread.

    Pages that the crawl has seen before under the same URL do not count. Only the process of this spider is
    looked at, and at most the sites that it counts (:data:`dedupcrawl.sites.site_counts.MAX_SITES`).
    """

    @monitors.name("No site consists of duplicates")  # type: ignore[untyped-decorator]
    def test_no_site_consists_of_duplicates(self) -> None:
        """Compare the share of each site with ``SPIDERMON_DEDUP_MAX_DUPLICATES``."""
        most, found = self._setting("MAX_DUPLICATES", 0.9), []
        for count in context_of(self.data.crawler).stats.sites.counts():
            duplicates = count.repeats + count.elsewhere
            if count.compared >= self._min_pages and duplicates > most * count.compared:
                found.append((duplicates, f"{count.site} ({duplicates:,} of {count.compared:,})"))
        worst = [text for _, text in sorted(found, key=itemgetter(0), reverse=True)]
        more = f" and {len(worst) - _SITES_SHOWN} more" if len(worst) > _SITES_SHOWN else ""
        message = f"more than {most:.0%} of the compared pages are duplicates: {', '.join(worst[:_SITES_SHOWN])}{more}"
        if worst:
            self.fail(message)


@monitors.name("Unchecked pages")
class UncheckedShareMonitor(_CrawlMonitor):
    """Fails if many pages could not be compared, so that duplicates among them are kept."""

    @monitors.name("Most pages are compared")  # type: ignore[untyped-decorator]
    def test_most_pages_are_compared(self) -> None:
        """Compare the share with ``SPIDERMON_DEDUP_MAX_UNCHECKED``; pages that you excluded do not count."""
        prefix, most = "dedup/unchecked/", self._setting("MAX_UNCHECKED", 0.5)
        reasons = {name.removeprefix(prefix): n for name, n in self._stats.items() if name.startswith(prefix)}
        reasons.pop("skip", None)
        unchecked = sum(reasons.values())
        pages = unchecked + self._stats.get("dedup/checked", 0)
        listed = ", ".join(f"{name} {n:,}" for name, n in sorted(reasons.items(), key=itemgetter(1), reverse=True))
        too_many = pages >= self._min_pages and unchecked > most * pages
        if too_many:
            self.fail(f"{unchecked:,} of {pages:,} pages are unchecked: {listed}")


@monitors.name("Store")
class StoreOutageMonitor(_CrawlMonitor):
    """Fails if the store was away, or failed: duplicates may have been kept meanwhile."""

    @monitors.name("The store was available all the time")  # type: ignore[untyped-decorator]
    def test_the_store_was_there_all_the_time(self) -> None:
        """Look at the stats of outages, errors, and pages for which the spool had no room."""
        names = ("outages", "outages/seconds", "store_errors", "spool/full")
        found = {name: self._stats[f"dedup/{name}"] for name in names if self._stats.get(f"dedup/{name}")}
        if found:
            self.fail("the store was away: " + ", ".join(f"{name} {n:,}" for name, n in found.items()))


class DedupMonitorSuite(MonitorSuite):  # type: ignore[misc]
    """All monitors of dedupcrawl, for ``SPIDERMON_SPIDER_CLOSE_MONITORS``."""

    monitors = (SiteDuplicatesMonitor, UncheckedShareMonitor, StoreOutageMonitor)
