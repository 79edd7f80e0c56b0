"""How long a crawl waited for its store, as it says of itself."""

from __future__ import annotations

import pytest

from dedupcrawl.crawl.line import AwayError
from dedupcrawl.crawl.pulse import Waits
from dedupcrawl.errors import StoreError


def test_waits_are_counted_since_they_were_last_asked_for() -> None:
    waits = Waits()
    assert waits.take() == (0, 0.0, 0.0)
    for _ in range(3):
        with waits.timing(unless=AwayError):
            pass
    calls, mean, worst = waits.take()
    assert calls == 3
    assert 0 < mean <= worst
    assert waits.take() == (0, 0.0, 0.0)


def test_a_call_that_fails_was_waited_for_and_one_that_is_not_made_was_not() -> None:
    waits = Waits()
    for error in (StoreError("full"), AwayError("away")):
        with pytest.raises(type(error)), waits.timing(unless=AwayError):
            raise error
    assert waits.take()[0] == 1
