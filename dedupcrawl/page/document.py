"""Bytes to tree: find the encoding of a page, parse HTML, refuse what cannot be read.

Browsers use the byte order mark, the HTTP header, the markup (``<meta charset>``), and guess last. A label
means what the WHATWG Encoding Standard defines (``gb2312`` is gb18030, ``latin-1`` is windows-1252; w3lib
knows them). Labels are often wrong. One is accepted only if it decodes the bytes with few errors.

Tags with so many attributes that parsing them takes quadratic time are refused as well. libxml2 compares each attribute
of a tag with those before it: 40,000 attributes take seconds, and a page of 10 MB with a single tag takes hours. A
parser in C cannot be interrupted, so such tags are found before.

Which ``<`` begins a tag depends on the state of the tokenizer (in a script, a comment, a quoted value…). The
search does not follow that state. It tries every ``<`` before a letter, and so finds each tag of the page
whatever tokenizer the parser has. In scripts it also finds what is no tag (``i<n; i++``). If something was found, it
is repeated without any ``<`` before a letter in such scripts, and the page is parsed without them as well.

The search takes some percent of the time of reading a page. So a page is sampled first: within a long tag, each
``>`` is in a quoted value, and the tag has many attributes between two of them or lasts for many samples. The places
of the samples are random, so that no page can hide its attributes between them. Their distance is such that a page of
tags that are missed is parsed in a second or two.

The time limit of a page is in :mod:`dedupcrawl.page.time_limit`.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from itertools import cycle
from random import SystemRandom
from typing import TYPE_CHECKING

from charset_normalizer import from_bytes
from lxml import html
from parsel.selector import create_root_node
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, TOO_MANY_ATTRIBUTES, PageError
from dedupcrawl.page.time_limit import check_time

if TYPE_CHECKING:
    from lxml.etree import _Element


#: Encodings of web pages that are tried. Multi-byte ones come first: a wrong one shows by its errors.
MULTIBYTE = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
SINGLE_BYTE = (
    "cp1251", "koi8_r", "cp1250", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    "cp874",
)  # fmt: skip
MIN_UTF8_BYTES = (
    16  #: with at least this many continuation bytes, text that is valid UTF-8 is UTF-8, whatever its label
)
#: Encodings that agree on most letters: only a longer text shows which one it is.
LATIN_ENCODINGS = frozenset({"cp1250", "cp1254", "cp1257", "cp1258"})
MIN_LATIN_LETTERS = 100  #: minimum bytes outside ASCII of a text that is long enough for that
SAMPLE_BYTES = 4096  #: bytes outside ASCII that are examined to guess an encoding
MAX_ERROR_SHARE = 0.02  #: undecodable share of the characters outside ASCII that a correct label may have
MAX_GUESS_ERRORS = 0.05  #: undecodable share of the sample that a guessed encoding may have
FALLBACK = "cp1252"  #: used, as in Scrapy, when nothing else is known
#: Codecs of Python that decode ASCII letters as themselves, but are no encodings of pages. The decoders of ``idna`` and
#: ``punycode`` fail on most texts, and take quadratic time. Browsers do not support UTF-7.
NO_ENCODINGS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
MARKUP_SAMPLE = (
    b"<meta charset=abcdefghijklmnopqrstuvwxyz0123456789>"  #: the same in every encoding of pages but UTF-16 and -32
)
MIN_NUL_SHARE = 0.25  #: UTF-16 that is valid UTF-8 as well is mostly ASCII, and half of its bytes are NUL
MAX_RUN_BYTES = 1 << 16  #: bytes of a run of text that are examined to guess an encoding

#: First bytes of common binary file formats.
SIGNATURES = (
    b"%PDF-", b"\x89PNG\r\n", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"MZ\x90",
    b"Rar!", b"7z\xbc\xaf", b"ID3", b"OggS", b"RIFF", b"\xd0\xcf\x11\xe0", b"\0\0\0\x18ftyp", b"\0\0\0 ftyp",
    b"BZh9", b"wOFF", b"\xfd7zXZ", b"II*\0", b"MM\0*", b"\x1aE\xdf\xa3", b"FWS", b"CWS",
)  # fmt: skip
#: "Binary data bytes" of the WHATWG MIME Sniffing Standard, without NUL: broken pages contain it.
BINARY_BYTES = bytes({*range(0x01, 0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)})
UTF16_STARTS = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
SNIFFED_BYTES = 4096  #: bytes at the start of a body that are checked for binary data
MAX_BINARY_SHARE = 0.02  #: share of binary bytes among them that a broken page may have
MAX_DEPTH = 2040  #: levels; libxml2 stops at 2,048

_foreign_runs = re.compile(rb"[\x80-\xff][^\x00-\x1f<>\"]*").finditer
_REPLACED = "\ufffd"


def to_text(source: bytes | str, *, encoding: str | None, content_type: str, max_bytes: int) -> str:
    """Return the text of a page. Raises :class:`PageError` for one that is too large or binary."""
    if isinstance(source, str):
        check_size(len(source), max_bytes)
        return source
    check_body(source, max_bytes)
    return decode(source, encoding=encoding, content_type=content_type)


def parse(text: str) -> _Element:
    """Parse a page as Scrapy does. Broken markup is repaired; there is always a root element.

    Raises:
        PageError: a tag has so many attributes that parsing it would take quadratic time.
    """
    return create_root_node("", html.HTMLParser, body=bounded_markup(text).encode("utf-8", "replace"))


def is_binary(body: bytes) -> bool:
    """Return whether a body is binary data, whatever its Content-Type is."""
    if body.startswith(SIGNATURES):
        return True
    if body.startswith(UTF16_STARTS):
        return False
    start = body[:SNIFFED_BYTES]
    if not any(map(start.__contains__, BINARY_BYTES)):  # takes half the time of the next line
        return False
    return len(start) - len(start.translate(None, BINARY_BYTES)) > MAX_BINARY_SHARE * len(start)


def check_size(size: int, max_bytes: int) -> None:
    """Raise :class:`PageError` for a page of more than ``max_bytes`` bytes."""
    if size > max_bytes:
        raise PageError(TOO_LARGE, f"a page of {size} bytes is larger than max_bytes = {max_bytes}")


def check_stream(stream: str | bytes, max_bytes: int) -> None:
    """Raise :class:`PageError` for a stream of more than ``max_bytes`` characters."""
    if len(stream) > max_bytes:  # most are shorter, even in bytes
        check_size(len(stream.decode() if isinstance(stream, bytes) else stream), max_bytes)


def check_depth(root: _Element) -> None:
    """Raise :class:`PageError` if the parser stopped because tags were nested too deep.

    Only the missing part may distinguish the page from another one. At the place where the
    parser stopped, the last child of every level is the parent of the next.
    """
    depth = 0
    while len(root):
        root = root[-1]
        depth += 1
    if depth >= MAX_DEPTH:
        raise PageError(TOO_DEEP, f"tags are nested {depth} levels deep, beyond which nothing is parsed")


def check_body(body: bytes, max_bytes: int, name: str = "the page") -> None:
    """Raise :class:`PageError` for a body that is too large or binary; ``name`` is used in the message."""
    check_size(len(body), max_bytes)
    if is_binary(body):
        raise PageError(BINARY, f"{name} is binary data, not text")


def decode(body: bytes, *, encoding: str | None = None, content_type: str = "") -> str:
    """Return the text of a page's body. ``encoding`` and the HTTP header ``content_type`` are only hints."""
    marked, mark = read_bom(body)
    if marked:
        return to_unicode(body[len(mark or b"") :], marked)
    if _is_plain_ascii(body):
        return body.decode("ascii")
    text = _as_utf8(body)
    labels = _labels(body, encoding, content_type)
    if text is not None and not _may_be_wide(body):
        labels = [label for label in labels if not _is_wide(label)]
    if text is not None and (not labels or len(body) - len(text) >= MIN_UTF8_BYTES):
        return text
    for label in labels:
        text = _decoded(body, label)
        if text is not None and _has_few_errors(text):
            return text
    return to_unicode(body, guess(body))


def is_plausible(body: bytes, text: str, label: str, content_type: str = "") -> bool:
    """Return whether ``text`` is a correct decoding of ``body`` by the encoding ``label``."""
    if body.isascii():
        # the same length: no label such as "utf-16" made other characters of it
        return (len(text) == len(body) and text.isascii()) or not (_is_plain_ascii(body) or _is_wide(label))
    if label == "utf-8" and _REPLACED not in text:
        return True  # each error would be replaced: this saves a second decoding of the body
    true_text = _as_utf8(body)
    if true_text is not None and _is_wide(label) and not _may_be_wide(body):
        return False
    if true_text is not None:
        return label == "utf-8" or len(body) - len(true_text) < MIN_UTF8_BYTES
    if label == FALLBACK and not _labels(body, None, content_type):
        return guess(body) == FALLBACK
    return _has_few_errors(text)


@lru_cache(maxsize=256)
def is_encoding(label: str) -> bool:
    """Return whether a label names an encoding of pages; Python has codecs that are none ("hex", "idna"…).

    >>> [is_encoding(label) for label in ("gb18030", "utf-16", "hex", "punycode", "cp037", "no-such-thing")]
    [True, True, False, False, False, False]
    """
    if _is_wide(label):
        return True
    try:
        name = codecs.lookup(label).name
        return name not in NO_ENCODINGS and MARKUP_SAMPLE.decode(label) == MARKUP_SAMPLE.decode("ascii")
    except Exception:  # noqa: BLE001  # LookupError, UnicodeError, or what a codec of another package raises
        return False


def replacement_encoding(body: bytes, content_type: str = "") -> str | None:
    """Return an encoding for a body whose declared label names none, or None if no such label is declared.

    Args:
        body: the body of a response.
        content_type: the HTTP header of that name.

    >>> replacement_encoding(b"page", "text/html; charset=idna"), replacement_encoding(b"page", "text/html")
    ('utf-8', None)
    """
    declared = http_content_type_encoding(content_type) or html_body_declared_encoding(body)
    if not declared or is_encoding(declared) or read_bom(body)[0]:
        return None
    if _as_utf8(body) is not None:
        return "utf-8"
    labels = _labels(body, None, content_type)
    return labels[0] if labels else guess(body)


def _is_wide(label: str) -> bool:
    return label.startswith(("utf-16", "utf-32"))


def _may_be_wide(body: bytes) -> bool:
    """Return whether a body that is valid UTF-8 may be UTF-16 or UTF-32."""
    return body.count(b"\0") >= MIN_NUL_SHARE * len(body)


def _is_plain_ascii(body: bytes) -> bool:
    """Return whether a body is ASCII in every encoding but UTF-16, without the escapes of ISO-2022 and HZ."""
    return body.isascii() and not any(sign in body for sign in (b"\x1b", b"\0", b"~{"))


def _labels(body: bytes, encoding: str | None, content_type: str) -> list[str]:
    """Return the declared encodings, the most reliable first."""
    declared = (
        resolve_encoding(encoding) if encoding else None,
        http_content_type_encoding(content_type) if content_type else None,
        html_body_declared_encoding(body),
    )
    labels = [label for label in declared if label and is_encoding(label)]
    utf16 = _utf16_without_mark(body)
    if utf16:
        return [utf16, *labels]
    # A label that could be read as ASCII in the markup cannot be UTF-16.
    return [label for label in labels if not (label == declared[2] and label.startswith("utf-16"))]


def _utf16_without_mark(body: bytes) -> str | None:
    start = body[:64].replace(b" ", b"")
    if b"<\0" in start and start.count(b"\0") * 3 > len(start):
        return "utf-16-be" if start.startswith(b"\0") else "utf-16-le"
    return None


def _decoded(body: bytes, label: str) -> str | None:
    try:
        return to_unicode(body, label)
    except (LookupError, UnicodeError):  # for example a codec of another package
        return None


def _as_utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _has_few_errors(text: str) -> bool:
    errors = text.count(_REPLACED)
    if not errors:
        return True
    start = text[: 16 * SAMPLE_BYTES]
    foreign = len(start) - len(start.encode("ascii", "ignore"))
    return errors <= MAX_ERROR_SHARE * foreign


def guess(body: bytes) -> str:
    """Return the most likely encoding of a body without a usable label, from its bytes outside ASCII."""
    sample = _sample(body)
    best = from_bytes(sample, cp_isolation=[*MULTIBYTE, *SINGLE_BYTE]).best()
    if best is not None:
        letters = sum(byte >= 0x80 for byte in sample)
        return FALLBACK if best.encoding in LATIN_ENCODINGS and letters < MIN_LATIN_LETTERS else best.encoding
    errors = {name: sample.decode(name, "replace").count(_REPLACED) for name in ("utf-8", *MULTIBYTE)}
    name = min(errors, key=errors.__getitem__)
    return name if errors[name] <= MAX_GUESS_ERRORS * len(sample) else FALLBACK


def _sample(body: bytes) -> bytes:
    runs, size = [], 0
    for run in _foreign_runs(body):
        runs.append(run.group()[:MAX_RUN_BYTES])
        size += len(runs[-1])
        if size >= SAMPLE_BYTES:
            break
    return b" ".join(runs)


# -- tags with many attributes ------------------------------------------------------------------

#: Attributes that a tag may have; tags of the labelled pages have at most 136. The parser then needs about as long for
#: a page of such tags as for a page of the same size with short ones.
MAX_ATTRIBUTES = 256

_SPACE = " \\t\\n\\r\\f"  # ASCII whitespace of the HTML Standard
_VALUE = rf"""(?:"[^"]*+"?+|'[^']*+'?+|[^{_SPACE}>]*+)"""
#: An attribute as the tokenizer of the HTML Standard reads it (sections 13.2.5.32 to 13.2.5.39). All quantifiers are
#: possessive: no text is scanned twice from the same place.
_ATTRIBUTE = rf"(?:[{_SPACE}/]*+[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE})?+)"
_TOO_MANY = f"{_ATTRIBUTE}{{{MAX_ATTRIBUTES + 1}}}"
#: The name of a tag is passed over as a whole: in ``<a<a<a`` each ``<`` would scan the rest again. At most 4,096 parts
#: are passed over at a time, since each may look at ``MAX_ATTRIBUTES`` attributes: some hundredths of a second.
_some_without_flood = re.compile(
    rf"(?:[^<]++|<(?:(?![a-zA-Z])|[a-zA-Z][^{_SPACE}/>]*+(?!{_TOO_MANY}))){{0,4096}}+"
).match
#: ``<script <script`` would be scanned to its end from each of them, if a tag could go on after a ``<``. A script whose
#: tag has one in a value stays as it is, and the page may be refused.
_scripts = re.compile(r"(<script\b[^<>]*+>)((?:[^<]++|<(?!/script))*+)", re.IGNORECASE)
#: ``<script`` inside a script has a meaning after ``<!--``.
_tag_in_script = re.compile("<(?!script)(?=[a-z])", re.IGNORECASE)

MIN_STEP, MAX_STEP = 512, 16384  #: characters between two samples
#: The distance times the length of the page: a page of tags of 3 steps, with 5 characters for each attribute, is parsed
#: in about 1.5 seconds.
STEP_TIMES_LENGTH = 5 * 10**9
#: Position of each sample in its step, 0 to 1. All pages of a process have the same positions.
_SHARES = tuple([SystemRandom().random() for _ in range(251)])
_WHITE_SPACE = " \t\n\r\f"
_BEFORE_VALUE = frozenset(f"={_WHITE_SPACE}")
_find_tag = re.compile("<[a-zA-Z]").search


def bounded_markup(html: str) -> str:
    """Return the page itself, or if its scripts look like long tags, the page without ``<`` in these places.

    Raises:
        PageError: a tag has more than ``MAX_ATTRIBUTES`` attributes.
    """
    if not has_long_tag(html):
        return html
    html = _scripts.sub(_without_tags, html)
    if has_long_tag(html):
        raise PageError(TOO_MANY_ATTRIBUTES, f"a tag has more than {MAX_ATTRIBUTES} attributes")
    return html


def has_long_tag(html: str) -> bool:
    """Return whether more than ``MAX_ATTRIBUTES`` attributes follow a ``<`` and a letter anywhere in the text.

    A tag that is shorter than three steps between samples may be missed.
    """
    return _may_have_long_tag(html) and _search_long_tag(html)


def sample_step(length: int) -> int:
    """Return the distance of the samples in a page of ``length`` characters."""
    return min(MAX_STEP, max(MIN_STEP, STEP_TIMES_LENGTH // max(1, length)))


def _search_long_tag(html: str) -> bool:
    place = 0
    while place < len(html):
        check_time()
        passed = _some_without_flood(html, place)
        if passed is None or passed.end() == place:
            return True
        place = passed.end()
    return False


def _may_have_long_tag(html: str) -> bool:
    """Return whether a run of characters without ``>`` may be part of a long tag, for one run in each step."""
    find, rfind, size = html.find, html.rfind, len(html)
    step = sample_step(size)
    last = 0  # the end of the run before: no character is searched twice
    was_quoted = False
    for begin, share in zip(range(0, size, step), cycle(_SHARES), strict=False):
        place = begin + int(step * share)
        if place < last:
            continue
        end = find(">", place)
        if end < 0:
            end = size
        start = rfind(">", last, place) + 1 or last
        is_quoted = _ends_in_value(html, start, end)
        if is_quoted and was_quoted:
            return True
        if end - start >= step and _is_suspicious(html, last, start, end, step):
            return True
        was_quoted = is_quoted
        last = end + 1
    return False


def _is_suspicious(html: str, last: int, start: int, end: int, step: int) -> bool:
    """Return whether a run of characters without ``>`` goes on with the tag of the run before, or is a long tag."""
    if start > last and _ends_in_value(html, html.rfind(">", last, start - 1) + 1 or last, start - 1):
        return True
    first = html.find("<", start, end - step)  # many times faster than the regular expression
    tag = _find_tag(html, first, end - step) if first >= 0 else None
    return tag is not None and _search_long_tag(html[tag.start() : end])


def _ends_in_value(html: str, start: int, end: int) -> bool:
    """Return whether the last ``"`` or ``'`` of a part of a page follows ``=``: a quoted value is not closed in it."""
    double, single = html.rfind('"', start, end), html.rfind("'", start, end)
    return (double > start and html[double - 1] in _BEFORE_VALUE and _is_opening(html, double, start)) or (
        single > start and html[single - 1] in _BEFORE_VALUE and _is_opening(html, single, start)
    )


def _is_opening(html: str, quote: int, start: int) -> bool:
    return html[start:quote].rstrip(_WHITE_SPACE).endswith("=")


def _without_tags(script: re.Match[str]) -> str:
    if not _search_long_tag(script[2]):
        return script[0]
    return script[1] + _tag_in_script.sub(" ", script[2])
