"""What the detectors see in two pages, whether or not that makes them copies."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.text.features import Features

if TYPE_CHECKING:
    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Detector, Match
    from dedupcrawl.page import Page

#: Bounds that every pair is within, or as far as the default constants beside them allow.
_BOUNDLESS = {
    **dict.fromkeys(("threshold", "share", "containment", "tau"), 1e-9),
    "length_ratio": math.inf,
    "length_difference": 0.999_999,  # boolean
    "differing": 63,
    "difference": 1.0,  # keywords
    "equal": 1,  # segments
    "needed": 1,  # shingling
    "distance": 16,  # simhash
    "agreement": 257,  # random_projection
}


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
    return _boundless(detector).compare(later.sketch, earlier.sketch)


def _boundless(detector: Detector) -> Detector:
    bounds: dict[str, object] = {
        field.name: _BOUNDLESS[field.name]
        for field in fields(detector)  # type: ignore[arg-type]
        if field.name in _BOUNDLESS
    }
    if isinstance(detector, Combined):  # what each member sees, not whether all of them match
        bounds = {"all_of": None, "any_of": tuple(map(_boundless, detector.members))}
    found: Detector = replace(detector, **bounds)  # type: ignore[type-var]
    return found
