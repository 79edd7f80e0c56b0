"""Bytes to tree: find the encoding of a page, refuse what cannot be read, parse HTML, read the metadata.

Browsers use the byte order mark, the HTTP header, the markup (``<meta charset>``), and guess last. A label
means what the WHATWG Encoding Standard defines (``gb2312`` is gb18030, ``latin-1`` is windows-1252; w3lib
knows them). Labels are often wrong. One is accepted only if it decodes the bytes with few errors.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urljoin

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

from dedupcrawl.page.attributes import bounded_markup
from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, PageError

if TYPE_CHECKING:
    from collections.abc import Iterable

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
MIN_LATIN_LETTERS = 100  #: bytes outside ASCII from which a text is long enough for that
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

#: For each metadata field, the names under which pages give it, the most reliable first.
TITLE = ("og:title", "title", "headline")
DESCRIPTION = ("description", "og:description", "dc.description", "twitter:description")
KEYWORDS = ("keywords", "news_keywords", "dc.subject")
CANONICAL = ("canonical", "og:url")
LANGUAGE = ("lang", "content-language", "og:locale", "dc.language")
PUBLISHED = (
    "article:published_time", "datepublished", "og:published_time", "pubdate", "publishdate", "publish-date",
    "publish_date", "ptime", "og:release_date", "dc.date.issued", "dc.date", "dcterms.created",
    "sailthru.date", "parsely-pub-date", "weibo: article:create_at", "og:time", "date", "ld", "time",
)  # fmt: skip

_foreign_runs = re.compile(rb"[\x80-\xff][^\x00-\x1f<>\"]*").finditer
_REPLACED = "\ufffd"
_json_string = re.compile(r'\s*:\s*"([^"]+)"').match
_subtag = re.compile(r"(?!utf)[a-z]{2,3}(?![a-z])").match


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


class Metadata(TypedDict):
    """The metadata fields of a :class:`~dedupcrawl.page.model.Page`; "" if the page does not give them."""

    title: str
    description: str
    keywords: str
    published: str
    canonical: str
    language: str


def metadata(entries: Iterable[str], url: str) -> Metadata:
    """Return the metadata in the ``name=value`` entries of a flattened page; the first of a name counts."""
    values: dict[str, str] = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        if value:
            values.setdefault(name.lower(), value)
    if "ld" in values:
        found = _json_string(values["ld"])
        values["ld"] = found[1] if found else ""
    return Metadata(
        title=_first_value(values, TITLE),
        description=_first_value(values, DESCRIPTION),
        keywords=_first_value(values, KEYWORDS),
        published=_first_value(values, PUBLISHED),
        canonical=_absolute_url(url, _first_value(values, CANONICAL)),
        language=primary_subtag(_first_value(values, LANGUAGE)),
    )


def _absolute_url(base: str, target: str) -> str:
    try:
        return urljoin(base, target) if target else ""
    except ValueError:  # for example "http://["
        return target


def _first_value(values: dict[str, str], names: tuple[str, ...]) -> str:
    found = (" ".join(values[name].split()) for name in names if name in values)
    return next(filter(None, found), "")


def primary_subtag(tag: str) -> str:
    """Return the language of a BCP 47 tag or a locale.

    >>> primary_subtag("zh-Hans-CN"), primary_subtag("en_GB"), primary_subtag("unknown")
    ('zh', 'en', '')
    """
    found = _subtag(tag.strip().lower())
    return found.group() if found else ""
