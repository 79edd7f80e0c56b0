"""URLs in few bytes: six bits for most characters, and for words that many URLs have.

A packed URL begins with a byte, the index of its start in ``_STARTS``. If it is plain, ``len(_STARTS)`` is added, and
the rest of the URL follows as it is: it has other characters, or would not get shorter. Else symbols of six bits:

=======  ==========================================================================
symbol   meaning
=======  ==========================================================================
0        the end; what follows are the bytes of the runs
1        the next symbol is a capital letter
2        a run of hexadecimal digits; the next symbol is the number of its bytes
3 to 11  a word of ``_WORDS``
12 on    a character of ``_CHARACTERS``
=======  ==========================================================================

If there is no run, there may be no end. ``binascii`` packs the symbols: they are the 64 digits of Base64.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64, unhexlify

from dedupcrawl.utils.optional import load_extension

# Packed URLs are stored and compared: none of these may change.
_STARTS = (b"https://www.", b"https://", b"http://www.", b"http://", b"")
_WORDS = (b".com/", b".html", b".org/", b"/20", b"tion", b"in", b"er", b"es", b"an")
_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz0123456789-./_=?&%+~:,;@()"
_END, _CAPITAL, _RUN = b"\0", b"\1", b"\2"
_CODES = tuple((word, bytes((3 + n,))) for n, word in enumerate(_WORDS))  # no text has such characters
_SYMBOLS = b"".join((_END, _CAPITAL, _RUN, *(code for _, code in _CODES), _CHARACTERS))
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = _CAPITALS + _CAPITALS.lower() + b"0123456789+/"  # of Base64
_TO_DIGITS, _FROM_DIGITS = bytes.maketrans(_SYMBOLS, _DIGITS), bytes.maketrans(_DIGITS, _SYMBOLS)
_PLAIN = len(_STARTS)

_CAPITAL_LETTER = re.compile(rb"[A-Z]")
_begins_with_letter = re.compile(rb"[a-z]").match
#: A run has more bytes than there are special symbols, and fewer than there are symbols.
_HEXADECIMAL = re.compile(rb"([0-9a-f]{12}(?:[0-9a-f]{2}){0,57})")
_MIN_RUN = 6  #: bytes
_NO_URL = "a URL that was not packed by us"
_TEXT = ("utf-8", "surrogatepass")

_VERSION = 3  #: of the extension, ``VERSION`` in ``_packing.pyx``
packing, _why_not = load_extension("dedupcrawl.stores.redis._packing", _VERSION)
url_packer = packing and packing.UrlPacker(starts=_STARTS, words=_WORDS, characters=_CHARACTERS)


def description() -> str:
    """Return in a few words which code packs records and requests to servers, and why."""
    return f"Python ({_why_not})" if packing is None else "compiled"


def pack_url(url: str) -> bytes:
    """Return a URL as bytes, at least one; equal URLs give equal bytes."""
    packed: bytes = pack_url_by_reference(url) if url_packer is None else url_packer.pack_url(url)
    return packed


def pack_url_by_reference(url: str) -> bytes:
    """Return the same as :func:`pack_url`, which compiled code (``_packing.pyx``) does where it could be built."""
    data = url.encode(*_TEXT)
    if data.startswith(b"https://"):
        start = 0 if data.startswith(b"www.", 8) else 1
    else:
        start = 4 if not data.startswith(b"http://") else 2 if data.startswith(b"www.", 7) else 3
    plain = data[len(_STARTS[start]) :]
    others = plain.translate(None, _CHARACTERS)
    if not others:
        return b"%c%b" % (start, _pack(plain))
    if not others.translate(None, _CAPITALS) and len(packed := _pack(plain)) < len(plain):
        return b"%c%b" % (start, packed)
    return b"%c%b" % (_PLAIN + start, plain)


def _pack(text: bytes) -> bytes:
    """Pack a text of letters and ``_CHARACTERS``."""
    for word, code in _CODES:
        text = text.replace(word, code)
    runs = b""
    parts = _HEXADECIMAL.split(text)
    if len(parts) > 1:
        runs = unhexlify(b"".join(parts[1::2]))
        parts[1::2] = [_RUN + _SYMBOLS[len(run) // 2 :][:1] for run in parts[1::2]]
        text = b"".join(parts) + _END
    if not text.islower():
        text = _CAPITAL_LETTER.sub(_pack_capital, text)
    size = len(text)
    digits = text.translate(_TO_DIGITS) + b"AAA"[: -size % 4]
    return a2b_base64(digits)[: _bytes_of(size)] + runs


def _pack_capital(found: re.Match[bytes]) -> bytes:
    return _CAPITAL + found[0].lower()


def _bytes_of(symbols: int) -> int:
    return (6 * symbols + 7) // 8


def unpack_url(packed: bytes) -> str:
    """Return the URL that :func:`pack_url` has packed; raise ``ValueError`` for bytes that are no packed URL."""
    url: str | None = None if url_packer is None else url_packer.unpack_url(packed)
    return unpack_url_by_reference(packed) if url is None else url


def unpack_url_by_reference(packed: bytes) -> str:
    """Return the same as :func:`unpack_url`, which compiled code does with packed URLs."""
    start = packed[0] if packed else 2 * _PLAIN
    if start >= 2 * _PLAIN:
        raise ValueError(_NO_URL)
    if start >= _PLAIN:
        return decode_text(_STARTS[start - _PLAIN] + packed[1:])
    digits = b2a_base64(packed[1:] + b"\0\0"[: (1 - len(packed)) % 3], newline=False)
    symbols = digits.translate(_FROM_DIGITS).partition(_END)[0]
    first, *others = symbols.split(_RUN)
    parts = [_STARTS[start], _unpack(first)]
    at = 1 + _bytes_of(len(symbols) + 1)
    for other in others:
        end = at + (_SYMBOLS.index(other[:1]) if other else 0)
        if end - at < _MIN_RUN or end > len(packed):
            raise ValueError(_NO_URL)
        parts += (packed[at:end].hex().encode("ascii"), _unpack(other[1:]))
        at = end
    return decode_text(b"".join(parts))


def decode_text(text: bytes) -> str:
    """Return a text; raise ``ValueError`` for bytes that are not UTF-8 with surrogates."""
    try:
        return text.decode(*_TEXT)
    except UnicodeDecodeError:
        raise ValueError("a text that is not UTF-8") from None


def _unpack(text: bytes) -> bytes:
    """Return what symbols without end and runs stand for."""
    if _CAPITAL in text:
        first, *others = text.split(_CAPITAL)
        if not all(map(_begins_with_letter, others)):
            raise ValueError(_NO_URL)
        text = b"".join((first, *(other[:1].upper() + other[1:] for other in others)))
    for word, code in _CODES:
        text = text.replace(code, word)
    return text
