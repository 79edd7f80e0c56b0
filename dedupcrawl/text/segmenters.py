"""Word segmenters for text without spaces, by name."""

from __future__ import annotations

import functools
import importlib
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
_PROBE = "中文"


def check_segmenter(name: str, setting: str = "segmenter") -> None:
    """Check that a segmenter can be used. jieba is not loaded, because that takes a second.

    Args:
        name: Name of the segmenter.
        setting: Name of the setting, for the error message.

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
        said = f"a function from str to an iterable of str; given {_PROBE!r} this one fails: {error!r}"
        raise SettingError(setting, name, said) from error


def segment(name: str, run: str) -> Iterator[str]:
    """Yield the words of ``run``, without empty words and white space.

    Args:
        name: Name of the segmenter.
        run: Text without spaces.

    Raises:
        SettingError: The segmenter does not exist.
        TypeError: A user's function yields something other than str. Its own exceptions are not caught.
    """
    for piece in load_segmenter(name)(run):
        if not isinstance(piece, str):
            raise TypeError(f"segmenter {name!r} gave {piece!r}, which is no str")
        if piece.strip():
            yield piece


@functools.cache
def load_segmenter(name: str) -> Segmenter:
    """Return the function of a segmenter.

    Args:
        name: "jieba", "rjieba" or the dotted name of a function.

    Raises:
        SettingError: The segmenter does not exist.
    """
    if name == "jieba":
        return _load_jieba()
    if name == "rjieba":
        return _load_rjieba()
    try:
        function: Segmenter = pkgutil.resolve_name(name)
    except Exception as error:  # the user's module may raise anything when it is imported
        said = f"{SEGMENTER_ACCEPTED}; this one cannot be loaded: {error}"
        raise SettingError("segmenter", name, said) from error
    if not callable(function):
        raise SettingError("segmenter", name, f"{SEGMENTER_ACCEPTED}; this one is no function")
    return function


def _load_jieba() -> Segmenter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports the retired pkg_resources and has invalid escapes
        import jieba  # noqa: PLC0415 - slow to import

    jieba.setLogLevel(logging.ERROR)
    segmenter: Segmenter = jieba.Tokenizer().cut
    return segmenter


def _load_rjieba() -> Segmenter:
    if find_spec("rjieba") is None:
        raise SettingError("segmenter", "rjieba", 'install it first, by pip install "dedupcrawl[rjieba]"')
    segmenter: Segmenter = importlib.import_module("rjieba").cut
    return segmenter
