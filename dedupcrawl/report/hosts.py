"""Where a page comes from."""

from __future__ import annotations

from urllib.parse import urlsplit

from dedupcrawl.report.plain import MOST_NAME, storable

OTHERS = ""  #: stands for all hosts that are not counted one by one, and for pages without any


def host_of(url: str) -> str:
    """Return host and port of a URL in lower case, without user and password; "" if it has none."""
    try:
        place = urlsplit(url).netloc
    except ValueError:  # a bracket that is not closed
        return ""
    return storable(place.rpartition("@")[2].lower(), MOST_NAME)
