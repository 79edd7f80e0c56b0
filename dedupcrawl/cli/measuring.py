"""What the detectors see in two pages, whether or not that makes them copies."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.text.features import Features

if TYPE_CHECKING:
    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Detector, Match
    from dedupcrawl.page import Page

#: Bounds that every pair is within.
_BOUNDLESS = {"threshold": 1e-9, "share": 1e-9, "containment": 1e-9, "length_ratio": math.inf}


def measure(config: Config, old: Page, new: Page) -> dict[str, dict[str, object] | None]:
    """Return by detector the similarity of two pages and its evidence, in plain JSON values.

    None: a page is too short for the detector, or they share less than it can tell from chance. A crawl may
    never compare the pages at all: that takes a common bucket.
    """
    pages = Features(old), Features(new)
    matches = {detector.name: _match(detector, *pages) for detector in build_detectors(config)}
    return {
        name: None if match is None else {"similarity": round(match.similarity, 4), **match.evidence}
        for name, match in matches.items()
    }


def _match(detector: Detector, old: Features, new: Features) -> Match | None:
    earlier, later = detector.fingerprint(old), detector.fingerprint(new)
    if earlier is None or later is None:
        return None
    bounds = {field.name: _BOUNDLESS[field.name] for field in fields(detector) if field.name in _BOUNDLESS}  # type: ignore[arg-type]
    boundless: Detector = replace(detector, **bounds)  # type: ignore[type-var]
    return boundless.compare(later.sketch, earlier.sketch)
