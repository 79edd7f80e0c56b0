"""Word segmenters for text without spaces, by name."""

from __future__ import annotations

import functools
import logging
import pkgutil
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

Segmenter = Callable[[str], Iterable[str]]

SEGMENTER_ACCEPTED = '"jieba", "rjieba" or the dotted name of a function, "package.module:name"'
JIEBA_SEGMENTERS = ("jieba", "rjieba")  #: two implementations with the same result
_PROBE = "中文"  #: test input


def check_segmenter(name: str, setting: str = "segmenter") -> None:
    """Check that a segmenter can be used. jieba is not loaded, because that takes a second.

    Raises:
        SettingError: The segmenter does not exist, is not installed, or fails on a Chinese word.
    """
    if name == "jieba":
        return
    try:
        list(segment(name, _PROBE))
    except SettingError as error:
        raise SettingError(setting, name, error.accepted) from error
    except Exception as error:  # a user's function may raise anything
        accepted = f"a function from str to an iterable of str; given {_PROBE!r} this one fails: {error!r}"
        raise SettingError(setting, name, accepted) from error


def segment(name: str, run: str) -> Iterator[str]:
    """Yield the words of ``run``, a text without spaces; empty words and white space are ignored.

    Raises:
        SettingError: The segmenter does not exist.
        TypeError: A user's function yields something other than str. Its own exceptions are not caught.
    """
    for word in load_segmenter(name)(run):
        if not isinstance(word, str):
            raise TypeError(f"segmenter {name!r} returned {word!r}, which is not a str")
        if word.strip():
            yield word


@functools.cache
def load_segmenter(name: str) -> Segmenter:
    """Return the function of a segmenter.

    Raises:
        SettingError: The segmenter does not exist.
    """
    if name == "jieba":
        return _load_jieba()
    if name == "rjieba":
        if find_spec("rjieba") is None:
            raise SettingError("segmenter", "rjieba", 'install it first, by pip install "dedupcrawl[rjieba]"')
        name = "rjieba:cut"
    try:
        function: Segmenter = pkgutil.resolve_name(name)
    except Exception as error:  # the user's module may raise anything when it is imported
        accepted = f"{SEGMENTER_ACCEPTED}; this one cannot be loaded: {error}"
        raise SettingError("segmenter", name, accepted) from error
    if not callable(function):
        raise SettingError("segmenter", name, f"{SEGMENTER_ACCEPTED}; this one is not a function")
    return function


def _load_jieba() -> Segmenter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports the retired pkg_resources and has invalid escapes
        import jieba  # noqa: PLC0415 - slow to import

    jieba.setLogLevel(logging.ERROR)
    segmenter: Segmenter = jieba.Tokenizer().cut
    return segmenter
