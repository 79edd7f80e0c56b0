"""The names of a page as tokens: the words of its heading and its title, and whether its text is about them."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dedupcrawl.identity.identity_codec import (
    BODY,
    DIGIT,
    FILLER,
    HASH_BITS,
    HEADING,
    MAIN,
    MAX_COUNT,
    MAX_NAMES,
    SAID,
    TELLING,
    TITLE,
    HashSample,
    sample,
)
from dedupcrawl.identity.token_hashes import hash_of, keyed_bytes
from dedupcrawl.identity.values import MAX_TOKEN_BYTES
from dedupcrawl.page.rules import VIEW_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_SEARCHED = 4096  #: bytes of a text in which names are looked for
MIN_TELLING_LENGTH = 4  #: shorter words ("the", "of") do not show what a text is about
MIN_ABOUT = 0.5  #: a text with at least this share of a name's telling tokens is about that name
#: Telling tokens of a heading that names one page, not a kind of pages ("Our doctors"). A pair of characters of a text
#: without spaces counts as a third of one.
LONG_NAME = 4

SIGNS = "+#-\u2212"  #: the end of a short word: C++, F#, AA+, A-
_words = re.compile(r"(?<![^\W_])(?:[a-z]{1,3}[+#]+|[a-z][-\u2212])(?![^\W_]|[+#])|[^\W_]+").findall
#: The first and the last character of each range of scripts without spaces.
UNSPACED = "\u0e00\u0eff\u1000\u109f\u1780\u17ff\u3040\u30ff\u3400\u9fff\uf900\ufaff"
_UNSPACED_RUN = f"[{''.join(map('-'.join, zip(UNSPACED[::2], UNSPACED[1::2], strict=True)))}]+"
#: Bytes within words of a folded text.
_LETTERS = frozenset((*b"abcdefghijklmnopqrstuvwxyz0123456789", *range(0x80, 0x100)))
_space_parts = partial(re.compile(_UNSPACED_RUN).sub, r" \g<0> ")
_is_unspaced = re.compile(_UNSPACED_RUN).match
_has_digit = re.compile(r"\d").search


def name_tokens(text: str) -> list[str]:
    """Return the words of a folded name; text without spaces gives pairs of characters.

    A single Han character would occur in most texts by accident; a pair rarely does.

    >>> name_tokens("bolt m3, c++ for weir-keepers, 沪指涨")
    ['bolt', 'm3', 'c++', 'for', 'weir', 'keepers', '沪指', '指涨']
    """
    tokens: list[str] = []
    for word in _words(text if text.isascii() else _space_parts(text)):
        if _is_unspaced(word):
            tokens += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            tokens.append(word)
    return tokens


def own_name(name: str) -> set[str]:
    """Return the tokens of a folded name without the words that name a view of the page."""
    return {*name_tokens(name)} - VIEW_WORDS


@lru_cache(maxsize=16384)
def name_key(token: str, seed: int) -> int:
    """Return the class of a token and its hash. The names of a site's pages have most words in common."""
    hashed = hash_of(token.encode("utf-8", "surrogatepass")[:MAX_TOKEN_BYTES], keyed_bytes(seed))
    return _class_of(token) | hashed >> 32 - HASH_BITS


def _class_of(token: str) -> int:
    if _has_digit(token):
        return DIGIT
    return TELLING if len(token) >= MIN_TELLING_LENGTH or token[-1] in SIGNS or _is_unspaced(token) else FILLER


def is_long_name(name: Iterable[str]) -> bool:
    """Return whether the tokens of a heading or title are many, as of an article, see ``LONG_NAME``."""
    telling = [token for token in name if _class_of(token[:MAX_TOKEN_BYTES]) == TELLING]
    return sum(1 if _is_unspaced(token) else 3 for token in telling) >= 3 * LONG_NAME


def sample_names(named: Sequence[str], text: bytes, others: Sequence[bytes], seed: int) -> HashSample:
    """Return the sample of a page's names, with the places where they stand.

    Args:
        named: the folded heading and title.
        text: the normalised text in which they are looked for.
        others: the text without the lines that are the heading or title; the text beside it.
        seed: key of the hashes.
    """
    flags: dict[int, int] = {}
    tokens: dict[int, set[str]] = {}
    for name, flag in zip(named, (HEADING, TITLE), strict=True):
        for token in own_name(name):
            key = name_key(token[:MAX_TOKEN_BYTES], seed)
            flags[key] = flags.get(key, 0) | flag
            tokens.setdefault(key, set()).add(token)
    lowest = sorted(flags)[:MAX_NAMES]
    for place, searched in ((MAIN, text), *((SAID, each) for each in others)):
        for key in lowest:
            if key < FILLER and any(stands_in(token, searched[:MAX_SEARCHED]) for token in tokens[key]):
                flags[key] |= place
    found = sample(flags, MAX_NAMES)
    return found if found.is_whole else HashSample(found.items, MAX_COUNT)  # a name has more words than are counted


def is_about_its_name(names: Mapping[int, int]) -> bool:
    """Return whether the body of a page is about its heading, or without a heading its title.

    A single word proves nothing: "Decision" may be the heading of many texts, and a word in each of them.
    """
    own = [key for key, flags in names.items() if flags & HEADING] or [*names]
    return len([key for key in own if key < FILLER]) > 1 and about(names, own, BODY) >= MIN_ABOUT


def about(names: Mapping[int, int], some: Iterable[int], place: int = MAIN) -> float:
    """Return the share of the telling tokens among these that occur in the main text, or in its body, 0…1."""
    telling = [key for key in some if key < FILLER]
    return sum(names[key] & place == place for key in telling) / len(telling) if telling else 0.0


def stands_in(token: str, text: bytes) -> bool:
    """Return whether a token stands in a normalised text, as a whole word where words have ends."""
    word = token.encode("utf-8", "surrogatepass")
    at = text.find(word)
    if at < 0 or (not token.isascii() and _is_unspaced(token)):
        return at >= 0
    while at >= 0:
        end = at + len(word)
        if (end == len(text) or text[end] not in _LETTERS) and (at == 0 or text[at - 1] not in _LETTERS):
            return True
        at = text.find(word, end)
    return False
