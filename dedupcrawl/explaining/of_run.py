"""What the ledger of a crawl says of the configuration in force."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.settings_text import setting_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_CRAWL = "crawl"  #: kind of the runs that note their settings as JSON


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a crawl."""

    config: Config
    namespace: str


def settings_in(about: Mapping[str, Any]) -> RunSettings | None:
    """Return the settings that a run noted; see :meth:`~dedupcrawl.report.ledger.Ledger.create`.

    None: it is no crawl, or one of a version whose settings mean something else here.
    """
    if about.get("kind") != _CRAWL:
        return None
    try:
        noted = {name: json.loads(text) for name, text in about.get("settings", {}).items()}
        given: dict[str, Any] = {
            name: noted[setting] for name in CONFIG_FIELDS if (setting := setting_name(name)) in noted
        }
        return RunSettings(Config(**given), str(noted.get("DEDUP_NAMESPACE", "")))
    except (ValueError, TypeError, AttributeError):  # a SettingError is a ValueError
        return None
