"""Texts that say one thing over and over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dedupcrawl.text.normalize import Points

LONGEST = 64  #: letters and digits of what is repeated


def is_one_word_repeated(letters: Points) -> bool:
    """Whether letters and digits (code points of either, nothing between) are one word twice or more often.

    The word has up to ``LONGEST`` of them and may be a phrase; what stands last may be a part of it.
    """
    data, width = letters.tobytes(), letters.itemsize
    longest = min(LONGEST, len(letters) // 2)
    periods = np.flatnonzero(letters[1 : longest + 1] == letters[:1]) + 1
    head = data[: width * longest]
    shifts = [width * period for period in periods.tolist() if data.startswith(head, width * period)]
    return any(data[shift:] == data[:-shift] for shift in shifts)
