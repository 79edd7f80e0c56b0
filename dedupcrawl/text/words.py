"""Words, for the methods that need them; Chinese is segmented by jieba."""

from __future__ import annotations

import contextlib
import functools
import logging
import pkgutil
import re
import warnings
from typing import TYPE_CHECKING

from dedupcrawl.errors import SettingError

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
    cut: Callable[[str], Iterable[str]] | None = None
    found: list[str] = []
    for run in _RUNS.findall(text):
        if _IS_HAN(run):
            cut = cut or _segmenter(segmenter)
            found.extend(cut(run))
        else:
            found.append(run)
    return tuple(found)


def is_han(word: str) -> bool:
    """Whether a word is one of Han characters, which a segmenter has cut."""
    return _IS_HAN(word) is not None


@functools.cache
def _segmenter(name: str) -> Callable[[str], Iterable[str]]:
    if name == "jieba":
        return _jieba()
    if name == "rjieba":
        return _rjieba()
    function: Callable[[str], Iterable[str]] | None = None
    with contextlib.suppress(ValueError, ImportError, AttributeError):
        function = pkgutil.resolve_name(name)
    if not callable(function):
        raise SettingError("segmenter", name, SEGMENTER_ACCEPTED)
    return function


def _jieba() -> Callable[[str], Iterable[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba probes for the retired pkg_resources and has old escapes
        import jieba  # noqa: PLC0415 - it must not load before it is needed

    jieba.setLogLevel(logging.ERROR)
    segmenter: Callable[[str], Iterable[str]] = jieba.Tokenizer().cut
    return segmenter


def _rjieba() -> Callable[[str], Iterable[str]]:
    import rjieba  # noqa: PLC0415 - optional

    cut: Callable[[str], Iterable[str]] = rjieba.cut
    return cut
