"""Prints how much the package and its dependencies add to Scrapy's own, and fails above the limit."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

LIMIT = 120  #: MB beside Scrapy and its dependencies


def installed(name: str, found: dict[str, float]) -> dict[str, float]:
    """Add the megabytes of a package and of everything that it requires here."""
    if name not in found:
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for an extra, or for another platform
            return found
        paths = [file.locate() for file in package.files or ()]
        found[name] = sum(path.stat().st_size for path in paths if path.exists()) / 1e6
        for requirement in package.requires or ():
            if "extra ==" not in requirement:
                installed(re.split(r"[^\w.-]", requirement)[0].lower(), found)
    return found


scrapy, both = installed("scrapy", {}), installed("dedupcrawl", {})
added = sum(both.values()) - sum(scrapy.values())
largest = sorted(both.keys() - scrapy.keys(), key=both.__getitem__, reverse=True)[:8]
print(f"Scrapy {sum(scrapy.values()):.0f} MB, dedupcrawl adds {added:.0f} MB:", end=" ")
print(", ".join(f"{name} {both[name]:.1f}" for name in largest))
sys.exit(f"more than {LIMIT} MB" if added > LIMIT else 0)
