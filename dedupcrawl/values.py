"""The values of a page: the numbers in its main text, and those beside it.

Sizes, dates and prices tell pages with nearly the same text apart. Numbers that count readers, such as "12 comments" or
"阅读 3051", or tell a time that passes ("3 hours ago") say nothing about a page: they are no values.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.text.kernel import number_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.page.model import Page

MAX_NUMBERS = 128  #: numbers of a text that are examined

_ZERO = np.uint8(48)
_GAP = np.zeros(256, np.int64)  #: how many of a byte join two digits to one number: 3.5, 1,200, 2024-05-03, 10x20
_GAP[[*b".,:/x'-"]] = 1
_JOINS = _GAP.astype(np.uint8).tobytes()


def _alternatives(english: str, chinese: str) -> str:
    return "|".join(map(re.escape, (*english.split(), *chinese.split())))


#: After a number: words that count readers or tell a time that passes. "12 of 40 found this helpful" are two numbers.
_is_counted = re.compile(
    (
        r"(?: of [0-9]{1,9})?(?:[ +k)]|万|萬){0,3}(?:"
        r"(?:comment|repl(?:y|ie)|view|reader?|like|share|vote|visit(?:or)?|download|follower|user|hit)s?\b"
        r"|(?:people|persons?|users?|readers?|customers?|members?) (?:found|like|watch|view|online|read|have\b|has\b)"
        r"|found (?:this|it) |(?:min(?:ute)?s?|hours?|days?) ago\b|"
        + _alternatives("▲ ▼", "人看 人浏览 人瀏覽 人阅读 人閱讀 人评论 人評論 人点 人點 条评论 條評論 条回复 條回覆")
        + r"|(?:次)?(?:阅读|閱讀|浏览|瀏覽|点击|點擊|播放|下载|下載)|评论|評論|点赞|點讚|(?:分钟|分鐘|小时|小時)前)"
    ).encode()
).match
_COUNTED_STARTS = (
    *("comm", "repl", "view", "read", "like", "shar", "vote", "visi", "down", "foll", "user", "hit", "hits"),
    *("peop", "pers", "cust", "memb", "foun", "min", "mins", "minu", "hour", "day", "days"),
    *"▲▼万萬",
    *(who + what for who in "人" for what in "看浏瀏阅閱评評点點"),
    *(who + what for who in "条條" for what in "评評回"),
    *(
        often + what
        for often in ("次", "")
        for what in ("阅读", "閱讀", "浏览", "瀏覽", "点击", "點擊", "播放", "下载", "下載")
    ),
    *("评论", "評論", "点赞", "點讚", "分钟", "分鐘", "小时", "小時"),
)
_SEPARATORS = " +k)"  #: up to three of them between a number and a word that counts
#: Words before a number that count readers, and arrows of tickers; "read 12 times".
_COUNTING = tuple(
    each.encode()
    for each in (
        *("comments", "replies", "views", "reads", "readers", "likes", "shares", "votes", "visits", "visitors"),
        *("downloads", "hits", "users", "followers", "read", "viewed", "shared", "visited", "downloaded", "played"),
        *("▲", "▼", "阅读", "閱讀", "阅读数", "阅读量", "浏览", "瀏覽", "浏览量", "点击", "點擊", "评论", "評論"),
        *("回复", "回覆", "点赞", "點讚", "转发", "轉發", "收藏", "人气", "人氣"),
    )
)
_COLON, _BRACKET = "：".encode(), "（".encode()  #: text beside the main text is not normalised
_BETWEEN = " :("  #: between these words and a number
_EDGE = b"    "
_ANY = tuple(bytes((each,)) for each in range(256))


def _begin(words: Iterable[bytes], separators: Iterable[bytes]) -> frozenset[bytes]:
    """Return all four bytes with which words begin, each after none, one or more of some separators."""
    found = {(each + last)[:4] for each in words for last in (_ANY if len(each) < 4 else (b"",))}
    for _ in range(3):
        found |= {(separator + each)[:4] for separator in separators for each in found}
    return frozenset(found)


#: The four bytes after a number, and those before it, that may be part of a counter.
_STARTS = _begin([b" of", *map(str.encode, _COUNTED_STARTS)], [each.encode() for each in _SEPARATORS])
_ENDS = frozenset(
    each[::-1]
    for each in _begin([each[::-1] for each in _COUNTING], [each.encode()[::-1] for each in (*_BETWEEN, "：", "（")])
)
_REACH = 16  #: bytes before a number in which these words are looked for


def values_of(text: bytes) -> set[bytes]:
    """Return the numbers in a folded text, the first ``MAX_NUMBERS`` of them, without those that count readers.

    >>> sorted(values_of(b"bolt 3.5 x 20, 4 packs. comments (12)"))
    [b'20', b'3.5', b'4']
    """
    return _values_inside_and_beside(text, b"")[0]


def page_values(page: Page, text: bytes) -> tuple[set[bytes], set[bytes]]:
    """Return the values in the main text of a page, and those beside it only.

    Args:
        page: the page.
        text: its normalised text in UTF-8.
    """
    # Only digits and letters of ASCII matter here: to fold the text would take longer than to search it.
    return _values_inside_and_beside(text, page.stated.encode("utf-8", "surrogatepass").lower())


def _values_inside_and_beside(text: bytes, beside: bytes) -> tuple[set[bytes], set[bytes]]:
    """Return the values of two texts, in one pass: calls of numpy on short texts are expensive."""
    # Before the first number and after the last one too, some bytes can be looked at.
    both = b"".join((_EDGE, text, _EDGE, beside, _EDGE))
    starts, stops = _number_places(both)
    middle = bisect_left(starts, len(text) + len(_EDGE))
    inner = _values_at(both, starts[: min(middle, MAX_NUMBERS)], stops)
    if middle == len(starts):
        return inner, set()
    outer = _values_at(both, starts[middle : middle + MAX_NUMBERS], stops[middle:]) - inner
    return inner, outer


def _values_at(text: bytes, starts: list[int], stops: list[int]) -> set[bytes]:
    values: set[bytes] = set()
    for start, stop in zip(starts, stops, strict=False):
        value = text[start:stop]
        # The bytes around it rule out for most numbers that a word of a counter stands there.
        if value not in values and not (
            (text[stop : stop + 4] in _STARTS or text[start - 4 : start] in _ENDS) and _is_counter(text, start, stop)
        ):
            values.add(value)
    return values


def _number_places(text: bytes) -> tuple[list[int], list[int]]:
    """Return where the numbers start and stop; a regular expression takes three times as long to find them."""
    return number_places(text, _JOINS) or _number_places_by_numpy(text)


def _number_places_by_numpy(text: bytes) -> tuple[list[int], list[int]]:
    points = np.frombuffer(text, np.uint8)
    digits = (points - _ZERO < 10).nonzero()[0]
    if not len(digits):
        return [], []
    # Between two digits of a number stands nothing, or one mark. The digits are followed by other bytes.
    after = digits + 1
    is_last = digits[1:] - after[:-1] > _GAP.take(points.take(after[:-1]))
    starts = [int(digits[0]), *digits[1:][is_last].tolist()]
    return starts, [*after[:-1][is_last].tolist(), int(after[-1])]


def _is_counter(text: bytes, start: int, stop: int) -> bool:
    """Return whether a number counts readers or tells a time that passes."""
    before = text[max(0, start - _REACH) : start].rstrip(b" :(").removesuffix(_COLON).removesuffix(_BRACKET)
    return before.endswith(_COUNTING) or _is_counted(text, stop) is not None
