"""Bytes to text: which encoding a page is really in.

Browsers ask the byte order mark, the HTTP header, the markup (``<meta charset>``) and then guess; labels mean
what the WHATWG Encoding Standard says (``gb2312`` is gb18030, ``latin-1`` is windows-1252; w3lib knows them).
Labels lie, so one is believed only as far as the bytes agree with it.
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

#: Encodings found on the web, those of several bytes first: they can be told apart by their errors.
MULTIBYTE = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
SINGLE_BYTE = (
    "cp1251", "koi8_r", "cp1250", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    "cp874",
)  # fmt: skip
UTF8_PROOF = 16  #: continuation bytes that make valid UTF-8 no accident, whatever the label says
#: Encodings that agree on most letters; which of them it is shows only in a longer text.
LATIN = frozenset({"cp1250", "cp1254", "cp1257", "cp1258"})
LATIN_PROOF = 100  #: letters outside ASCII that make a text long enough
SAMPLE = 4096  #: bytes outside ASCII that guessing looks at
FEW_ERRORS = 0.02  #: undecodable share of the characters outside ASCII that a true label may have

FALLBACK = "cp1252"  #: what is taken, by Scrapy too, when nothing else is known

_foreign_runs = re.compile(rb"[\x80-\xff][^\x00-\x1f<>\"]*").finditer
_REPLACED = "\ufffd"


def decode(body: bytes, *, encoding: str | None = None, content_type: str = "") -> str:
    """Return the text of a page's bytes.

    ``encoding`` is a label, ``content_type`` an HTTP header that may hold one; both are hints.
    """
    marked, mark = read_bom(body)
    if marked:
        return to_unicode(body[len(mark or b"") :], marked)
    if body.isascii() and b"\x1b" not in body and b"\0" not in body:
        return body.decode("ascii")
    text = _as_utf8(body)
    labels = _labels(body, encoding, content_type)
    if text is not None and (not labels or _is_proof(body, text)):
        return text
    for label in labels:
        text = _decoded(body, label)
        if text is not None and _agrees(text):
            return text
    return to_unicode(body, guess(body))


def believable(body: bytes, text: str, label: str, content_type: str = "") -> bool:
    """Whether ``text`` is what ``body`` says, after somebody decoded it by ``label`` alone."""
    if body.isascii():
        return True
    true_text = _as_utf8(body)
    if true_text is not None:
        return label == "utf-8" or not _is_proof(body, true_text)
    if label == FALLBACK and not _labels(body, None, content_type):
        return guess(body) == FALLBACK
    return _agrees(text)


def _labels(body: bytes, encoding: str | None, content_type: str) -> list[str]:
    """Return what is declared, the most trusted first."""
    declared = (
        resolve_encoding(encoding) if encoding else None,
        http_content_type_encoding(content_type) if content_type else None,
        html_body_declared_encoding(body),
    )
    labels = [label for label in declared if label]
    utf16 = _utf16_without_mark(body)
    if utf16:
        return [utf16, *labels]
    # A label in the markup was read as ASCII: it cannot be UTF-16.
    return [label for label in labels if not (label == declared[2] and label.startswith("utf-16"))]


def _utf16_without_mark(body: bytes) -> str | None:
    start = body[:64].replace(b" ", b"")
    if b"<\0" in start and start.count(b"\0") * 3 > len(start):
        return "utf-16-be" if start.startswith(b"\0") else "utf-16-le"
    return None


def _decoded(body: bytes, label: str) -> str | None:
    try:
        return to_unicode(body, label)
    except (LookupError, UnicodeError):  # Python has codecs that are no charsets: "hex", "idna"…
        return None


def _as_utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_proof(body: bytes, text: str) -> bool:
    return len(body) - len(text) >= UTF8_PROOF


def _agrees(text: str) -> bool:
    """Whether a label decoded the bytes as well as a true one would."""
    errors = text.count(_REPLACED)
    if not errors:
        return True
    foreign = sum(not character.isascii() for character in text[: 16 * SAMPLE])
    return errors <= FEW_ERRORS * foreign


def guess(body: bytes) -> str:
    """Return the likeliest encoding of bytes that no label explains, judged by what is not ASCII in them."""
    sample = _sample(body)
    best = from_bytes(sample, cp_isolation=[*MULTIBYTE, *SINGLE_BYTE]).best()
    if best is not None:
        return FALLBACK if best.encoding in LATIN and _is_short(sample) else best.encoding
    errors = {name: sample.decode(name, "replace").count(_REPLACED) for name in ("utf-8", *MULTIBYTE)}
    name = min(errors, key=errors.__getitem__)
    return name if errors[name] <= 0.05 * len(sample) else FALLBACK


def _is_short(sample: bytes) -> bool:
    return sum(byte >= 0x80 for byte in sample) < LATIN_PROOF


def _sample(body: bytes) -> bytes:
    runs, size = [], 0
    for run in _foreign_runs(body):
        runs.append(run.group())
        size += len(run.group())
        if size >= SAMPLE:
            break
    return b" ".join(runs)
