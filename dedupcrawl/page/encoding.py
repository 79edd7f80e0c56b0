"""Bytes to text: find the real encoding of a page.

Browsers use the byte order mark, the HTTP header, the markup (``<meta charset>``), and guess last. A label
means what the WHATWG Encoding Standard defines (``gb2312`` is gb18030, ``latin-1`` is windows-1252; w3lib
knows them). Labels are often wrong. One is accepted only if it decodes the bytes with few errors.
"""

from __future__ import annotations

import re

from charset_normalizer import from_bytes
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

#: Encodings of web pages that are tried. Multi-byte ones come first: a wrong one shows by its errors.
MULTIBYTE = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
SINGLE_BYTE = (
    "cp1251", "koi8_r", "cp1250", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    "cp874",
)  # fmt: skip
MIN_UTF8_BYTES = 16  #: continuation bytes from which valid UTF-8 is no accident, whatever the label is
#: Encodings that agree on most letters: only a longer text shows which one it is.
LATIN_ENCODINGS = frozenset({"cp1250", "cp1254", "cp1257", "cp1258"})
MIN_LATIN_LETTERS = 100  #: bytes outside ASCII from which a text is long enough for that
SAMPLE_BYTES = 4096  #: bytes outside ASCII that are examined to guess an encoding
MAX_ERROR_SHARE = 0.02  #: undecodable share of the characters outside ASCII that a correct label may have
MAX_GUESS_ERRORS = 0.05  #: undecodable share of the sample that a guessed encoding may have
FALLBACK = "cp1252"  #: used, as in Scrapy, when nothing else is known

_foreign_runs = re.compile(rb"[\x80-\xff][^\x00-\x1f<>\"]*").finditer
_REPLACED = "\ufffd"


def decode(body: bytes, *, encoding: str | None = None, content_type: str = "") -> str:
    """Return the text of a page's body. ``encoding`` and the HTTP header ``content_type`` are only hints."""
    marked, mark = read_bom(body)
    if marked:
        return to_unicode(body[len(mark or b"") :], marked)
    if body.isascii() and b"\x1b" not in body and b"\0" not in body:
        return body.decode("ascii")
    text = _as_utf8(body)
    labels = _labels(body, encoding, content_type)
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
        return True
    true_text = _as_utf8(body)
    if true_text is not None:
        return label == "utf-8" or len(body) - len(true_text) < MIN_UTF8_BYTES
    if label == FALLBACK and not _labels(body, None, content_type):
        return guess(body) == FALLBACK
    return _has_few_errors(text)


def _labels(body: bytes, encoding: str | None, content_type: str) -> list[str]:
    """Return the declared encodings, the most reliable first."""
    declared = (
        resolve_encoding(encoding) if encoding else None,
        http_content_type_encoding(content_type) if content_type else None,
        html_body_declared_encoding(body),
    )
    labels = [label for label in declared if label]
    utf16 = _utf16_without_mark(body)
    if utf16:
        return [utf16, *labels]
    # a label that could be read as ASCII in the markup cannot be UTF-16
    return [label for label in labels if not (label == declared[2] and label.startswith("utf-16"))]


def _utf16_without_mark(body: bytes) -> str | None:
    start = body[:64].replace(b" ", b"")
    if b"<\0" in start and start.count(b"\0") * 3 > len(start):
        return "utf-16-be" if start.startswith(b"\0") else "utf-16-le"
    return None


def _decoded(body: bytes, label: str) -> str | None:
    try:
        return to_unicode(body, label)
    except (LookupError, UnicodeError):  # Python has codecs that are no character sets: "hex", "idna"…
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
    foreign = sum(not character.isascii() for character in text[: 16 * SAMPLE_BYTES])
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
        runs.append(run.group())
        size += len(run.group())
        if size >= SAMPLE_BYTES:
            break
    return b" ".join(runs)
