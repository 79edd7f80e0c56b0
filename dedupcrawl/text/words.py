"""Words, for the methods that need them; Chinese is segmented by jieba."""

from __future__ import annotations

import functools
import logging
import re
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUNS = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]").match


SEGMENTER_ACCEPTED = '"jieba", "rjieba" or the dotted name of a function, "package.module:name"'


def words(text: str, segmenter: str = "jieba") -> tuple[str, ...]:
    """Return the words of ``text`` in order, punctuation left out.

    Runs of Han characters are segmented by jieba (github.com/fxsjy/jieba), which is loaded, and its
    dictionary read, when the first of them is met; all else is cut where letters and digits end.
    """
    found: list[str] = []
    for run in _RUNS.findall(text):
        if _IS_HAN(run):
            found.extend(_segmenter()(run))
        else:
            found.append(run)
    return tuple(found)


@functools.cache
def _segmenter() -> Callable[[str], Iterable[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba probes for the retired pkg_resources and has old escapes
        import jieba  # noqa: PLC0415 - it must not load before it is needed

    jieba.setLogLevel(logging.ERROR)
    segmenter: Callable[[str], Iterable[str]] = jieba.Tokenizer().cut
    return segmenter
