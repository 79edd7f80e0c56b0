"""The cost of fingerprinting grows in proportion to the text, whatever the text is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.fingerprinting import Fingerprinter
from dedupcrawl.page.model import Page
from tests.cost import least_cpu_seconds, takes_less

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Texts of about n characters that have led to superlinear cost in one program or another.
SHAPES: Mapping[str, Callable[[int], str]] = {
    "one long word": lambda n: "x" * n,
    "different words": lambda n: " ".join(f"w{i}" for i in range(n // 7)),
    "the same words": lambda n: "the cat dog " * (n // 12),
    "sentence ends": lambda n: "a. " * (n // 3),
    "letters and stops": lambda n: "a." * (n // 2),
    "closing brackets": lambda n: "." + ")" * n,
    "lines": lambda n: "ab\n" * (n // 3),
    "a repetition that breaks": lambda n: "a" * (n // 2) + "b" + "a" * (n // 2),
    "different Han": lambda n: "".join(chr(0x4E00 + i * 7919 % 0x5000) for i in range(n)),
    "one Han": lambda n: "的" * n,
    "alternating scripts": lambda n: "a中" * (n // 2),
    "marks": lambda n: "a" + "\u0301\u0316" * (n // 2),
}
SMALL, LARGE = 2_000, 16_000
MAX_GROWTH = 2.5  #: cost of a character in the large text, in costs of a character in the small one
OVERHEAD = 0.002  #: seconds of a page, whatever its length


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [name for name in DETECTORS if name != "combined"])
def test_the_cost_grows_with_the_length(name: str, shape: str) -> None:
    fingerprint = Fingerprinter(build_detectors(Config(detectors=(name,))), 100, lambda: 0.0).fingerprint
    fingerprint(Page.from_text("中文 warm up. é\u0316" * 40))
    small, large = (Page.from_text(SHAPES[shape](n)) for n in (SMALL, LARGE))
    allowed = MAX_GROWTH * LARGE / SMALL * (OVERHEAD + least_cpu_seconds(lambda: fingerprint(small)))
    assert takes_less(lambda: fingerprint(large), allowed)
