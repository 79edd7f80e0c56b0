"""Which of several copies comes first, and so is kept: the order in which pages are judged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.batch.prints import Prints

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

ARRIVAL, LONGEST, NEWEST, OLDEST = WORDS = ("arrival", "longest", "newest", "oldest")
ACCEPTED = f"{', '.join(WORDS)}, or hosts, the most wanted first: reuters.com,apnews.com"
_HOST = re.compile(r"localhost|[^\s/:@]+\.[^\s/:@]+")


def check_prefer(prefer: Sequence[str]) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` for a preference that is none."""
    hosts = [name for name in prefer if name not in WORDS]
    one = len(prefer) == 1
    if not prefer or not (one or len(hosts) == len(prefer)) or not all(map(_HOST.fullmatch, hosts)):
        raise SettingError("--prefer", ",".join(prefer), ACCEPTED)


def order_of(prints: Prints, prefer: Sequence[str], *, given: int = 0, latest: bool = False) -> Numbers:
    """Return the rows in the order in which they are judged.

    The first ``given`` rows, which are kept already, stay in front, unless the latest page is to win: then
    they have to stand up to the newer ones like all others. What is equal comes by arrival; where the latest
    wins, the last that arrived is first, and times do not count where no page behind the given ones has any.
    """
    if latest:
        times = prints.numbers("time")
        return _latest(times if not np.isnan(times[given:]).all() else np.full(len(times), np.nan))
    behind = _wanted(prints, prefer)[given:]
    return np.concatenate([np.arange(given), given + np.argsort(behind, kind="stable")])


def _wanted(prints: Prints, prefer: Sequence[str]) -> Numbers:
    """Return a number for each row, the least for the one that is wanted most."""
    if prefer[0] == ARRIVAL:
        return np.zeros(len(prints))
    if prefer[0] == LONGEST:
        return -prints.numbers("length").astype(np.int64)
    if prefer[0] in (NEWEST, OLDEST):
        times = prints.numbers("time")  # NaN, where there is none, is sorted to the end
        return times if prefer[0] == OLDEST else -times
    return _places((prints.url(row) for row in range(len(prints))), prefer, len(prints))


def _latest(times: Numbers) -> Numbers:
    """Return the newest first; of equals, and of those without a time, the last that arrived."""
    return np.lexsort((-np.arange(len(times)), np.where(np.isnan(times), np.inf, -times)))


def _places(urls: Iterable[str], hosts: Sequence[str], rows: int) -> Numbers:
    places = {host.lower(): place for place, host in reversed(list(enumerate(hosts)))}
    return np.fromiter((_place(url, places, len(hosts)) for url in urls), np.int64, rows)


def _place(url: str, places: dict[str, int], nowhere: int) -> int:
    """Return the place of a URL's host, or of the nearest domain above it that is named."""
    try:
        name = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return nowhere
    while name:
        if name in places:
            return places[name]
        name = name.partition(".")[2]
    return nowhere
