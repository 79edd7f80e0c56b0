"""Any bytes in a store are read, or are damage; ``python -m benchmarks.hostile --records`` is the long form."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.hostile.stored_values import Kind, damaged, kinds, outcome

VALUES = 400


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_a_wrong_structure_with_a_right_checksum_is_damage(kind: Kind) -> None:
    assert {outcome(kind, value) for value in kind.values} == {"read"}
    random = Random(kind.name)
    found = Counter(outcome(kind, damaged(random, kind)) for _ in range(VALUES))
    assert found["damaged"] > VALUES / 20, found
