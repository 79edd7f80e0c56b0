"""What the detectors see in two pages, whether or not that makes them copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.text.features import Features

if TYPE_CHECKING:
    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.page import Page


def measure(config: Config, old: Page, new: Page) -> dict[str, dict[str, object] | None]:
    """Return by detector the similarity of two pages, where it measures one, and its figures: plain JSON.

    None: it has no fingerprint of one of the pages. A crawl may never compare the pages at all: that takes a
    common bucket.
    """
    pages = Features(old), Features(new)
    return {detector.name: _measured(detector, *pages) for detector in build_detectors(config)}


def _measured(detector: Detector, old: Features, new: Features) -> dict[str, object] | None:
    earlier, later = detector.fingerprint(old), detector.fingerprint(new)
    if earlier is None or later is None:
        return None
    opinion = detector.weigh(later.sketch, earlier.sketch)
    if opinion.silent:
        return None
    similarity = {} if opinion.similarity is None else {"similarity": round(opinion.similarity, 4)}
    return {**similarity, **opinion.figures}
