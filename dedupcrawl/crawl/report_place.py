"""Where the report of a crawl goes, and its ledger beside it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Self

from dedupcrawl.errors import DedupError, SettingError

SETTING = "DEDUP_REPORT"
ACCEPTED = (
    'a path that ends in ".html", in a folder that exists and can be written; '
    "%(name)s, %(time)s and %(pid)s in it stand for the spider, the time and the process"
)
_MEMORY = "dedup-report.json"  #: in JOBDIR


@dataclass(frozen=True, slots=True)
class Place:
    """Two files that belong together."""

    template: str  #: as the user gave it
    page: Path
    job: str = ""  #: what tells the job of a resumed crawl from others; "" without JOBDIR
    resumes: bool = False  #: whether this crawl goes on with an earlier one's ledger

    @property
    def ledger(self) -> Path:
        """Where the pages are written down."""
        return self.page.with_suffix(".ledger")

    @classmethod
    def named(cls, value: object, spider_name: str) -> Self | None:
        """Read ``DEDUP_REPORT``; None: there shall be no report.

        Raises :class:`~dedupcrawl.errors.SettingError`, before anything is written.
        """
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if not isinstance(value, str):
            raise SettingError(SETTING, value, ACCEPTED)
        if not value:
            return None
        page = Path(_filled(value, spider_name)).absolute()
        is_page = page.suffix.lower() in (".html", ".htm") and not page.is_dir()
        if not is_page or not page.parent.is_dir() or not os.access(page.parent, os.W_OK):
            raise SettingError(SETTING, value, ACCEPTED)
        return cls(value, page)

    def resumed(self, job: str | None) -> Place:
        """Return the place of the crawl that is resumed, if ``job``, the folder of ``JOBDIR``, knows one."""
        if not job:
            return self
        memory = Path(job, _MEMORY)
        return self._remembered(memory) or self._remember(memory)

    def _remembered(self, memory: Path) -> Place | None:
        try:
            told = json.loads(memory.read_text("utf-8"))
            earlier = Place(told["template"], Path(told["page"]), told["job"], resumes=True)
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return earlier if earlier.template == self.template and earlier._is_there() else None

    def _is_there(self) -> bool:
        from dedupcrawl.report.ledger import Ledger  # noqa: PLC0415  # most crawls need no ledger

        try:
            with Ledger.open(self.ledger) as ledger:
                return ledger.runs[-1].about.get("job") == self.job
        except (DedupError, IndexError):
            return False

    def _remember(self, memory: Path) -> Place:
        place = replace(self, job=token_hex(8))
        told = {"template": place.template, "page": str(place.page), "job": place.job}
        try:
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.write_text(json.dumps(told), "utf-8")
        except OSError as error:
            raise DedupError(f"{memory} cannot be written: {error.strerror}") from None
        return place


def _filled(value: str, spider_name: str) -> str:
    """Put names in the places of placeholders, as Scrapy's ``FEEDS`` does."""
    now = datetime.now(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    try:
        return value % {"name": spider_name, "time": now.replace(":", "-"), "pid": os.getpid()}
    except (LookupError, TypeError, ValueError):
        raise SettingError(SETTING, value, ACCEPTED) from None
