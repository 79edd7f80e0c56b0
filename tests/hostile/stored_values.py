"""Stored values with a wrong structure and a right checksum, and what reads them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import pytest

from dedupcrawl.config import Config
from dedupcrawl.decision import Policy
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.registry import DETECTORS, build_detectors, schemes
from dedupcrawl.errors import DamageError
from dedupcrawl.identity.identity_codec import unpack_identity
from dedupcrawl.identity.siblings import is_refresh, why_different, why_siblings
from dedupcrawl.matching import Matcher
from dedupcrawl.page.model import Page
from dedupcrawl.page.signatures import compare_layouts, is_little_read
from dedupcrawl.stores.base import Candidate, ClaimState, Record, scheme_json
from dedupcrawl.stores.records import decode, encode
from dedupcrawl.stores.redis.packed_records import pack_record, unpack_record, unpack_record_by_reference
from dedupcrawl.stores.redis.packed_urls import pack_url, unpack_url, unpack_url_by_reference
from dedupcrawl.stores.redis.sharded.packed_values import ValueCodec
from dedupcrawl.text.features import Features
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from dedupcrawl.detectors.base import Detector

T = TypeVar("T")

SEEN = 1_700_000_000_000  #: milliseconds
URLS = (
    "https://www.a.example/news/2024/7-ab.html?a=1",
    "https://é.example/例",
    "http://a.example/\ud800",
    "http://a.example/ABCDEFabcdef0123456789abcdef/7",
    "",
)


@dataclass(frozen=True)
class Kind:
    """A kind of stored values."""

    name: str
    values: Sequence[bytes]  #: sound ones
    read: Callable[[bytes], object]  #: raises ``DamageError`` for one that cannot be read
    #: returns a damaged value with a right checksum
    seal: Callable[[bytes], bytes] = bytes


def damaged(random: Random, kind: Kind) -> bytes:
    """Return a value of this kind with some wrong bytes, and a right checksum."""
    value = bytearray(random.choice(kind.values))
    for _ in range(random.choice((1, 1, 2, 4))):
        _damage(random, value)
    return kind.seal(bytes(value))


def _damage(random: Random, value: bytearray) -> None:
    at, way = random.randrange(len(value) + 1), random.randrange(9)
    number = random.randrange(1 << random.choice((8, 16, 25, 32))).to_bytes(4, random.choice(("big", "little")))
    if way == 0 and at < len(value):
        value[at] ^= 1 << random.randrange(8)
    elif way == 1 and at < len(value):
        value[at] = random.choice((0, 1, 127, 128, 254, 255))
    elif way == 2:  # a number of five bytes
        value[at:at] = b"\xff" + number
    elif way == 3:
        value[at : at + 4] = number
    elif way == 4:
        del value[at : at + random.randrange(1, 40)]
    elif way == 5:
        del value[at:]
    elif way == 6:
        value[at:at] = value[at : at + random.randrange(1, 40)]
    elif way == 7:
        value[at : at + 8] = random.choice((b"\x7f\xf0" + bytes(6), b"\x7f\xf8" + bytes(6), b"\xff" * 8, bytes(8)))
    else:
        value[at:at] = random.randbytes(random.randrange(1, 9))


def outcome(kind: Kind, value: bytes) -> str:
    """Read a value; return "read" or "damaged". Other errors are faults, and name the value."""
    try:
        kind.read(value)
    except DamageError:
        return "damaged"
    except Exception as error:
        raise AssertionError(f"{kind.name}: {type(error).__name__}: {error}: {value.hex()}") from error
    return "read"


@cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds of values."""
    codec = ValueCodec(scheme_json(schemes(_detectors("exact", "minhash"), Config())))
    records = [*_records()]

    def pack(record: Record) -> bytes:
        return codec.pack(record, SEEN, SEEN - 9)

    def unpack(value: bytes) -> Record:
        return codec.unpack(value, lambda: "a")

    identities = [record.identity for record in records if record.identity]
    return (
        Kind("record", [encode(each) for each in records], _read_and_judge(lambda value: decode(value, "a")), _seal),
        Kind("packed record", [pack_record(each) for each in records], _read_and_judge(_unpack), _seal_packed),
        Kind(
            "value of a shard",
            [codec.pack(each, SEEN, SEEN - 9) for each in records],
            _read_and_judge(unpack),
            _seal_value,
        ),
        Kind("packed URL", [pack_url(url) for url in URLS], _unpack_url),
        Kind("identity", identities, lambda value: _compare(value, identities[0])),
        *(_sketches(name) for name in DETECTORS),
    )


@cache
def _detectors(*names: str) -> tuple[Detector, ...]:
    return build_detectors(Config(detectors=names))


def _records() -> Iterator[Record]:
    """Yield records of pages, with and without a cluster, an identity and names; and of more detectors."""
    number = count()
    for names in (("exact", "minhash"), tuple(DETECTORS)[:8]):
        with Deduplicator(detectors=names, min_chars=0) as dedup:
            for url in URLS:
                html = f"<title>Story</title><h1>Story {next(number)}</h1><p>{ENGLISH}</p><p>{CHINESE}</p>"
                page = dedup.read(html=html, url=url)
                assert isinstance(page, Page)
                record = dedup.fingerprint(page)
                assert isinstance(record, Record)
                yield replace(record, probes=None)
                yield replace(record, probes=None, cluster="klüster", identity=b"")


def _read_and_judge(read: Callable[[bytes], Record]) -> Callable[[bytes], None]:
    """Return what reads a record, and judges a page by it, if it has as many sketches as the default detectors."""
    matcher = Matcher(_detectors("exact", "minhash"))
    policy = Policy(Config().drop, "first")
    page = next(_records())

    def work(value: bytes) -> None:
        record = read(value)
        assert decode(encode(record), "a") == replace(record, probes=None), "what was read cannot be stored"
        old = Candidate(1, record, ClaimState.COMMITTED, mine=False)
        for versions in (True, False) if len(record.sketches) == len(page.sketches) else ():
            policy.verdict(page.url, page, matcher.findings(page, [old], versions=versions))

    return work


def _unpack(value: bytes) -> Record:
    return _same(
        value, lambda each: unpack_record(each, SEEN, "a"), lambda each: unpack_record_by_reference(each, SEEN, "a")
    )


def _unpack_url(value: bytes) -> None:
    """Unpack a URL. It is a part of a record, which is damaged if its URL is none."""
    try:
        _same(value, unpack_url, unpack_url_by_reference)
    except ValueError as error:
        raise DamageError from error


def _same(value: bytes, read: Callable[[bytes], T], reference: Callable[[bytes], T]) -> T:
    """Read a value, with compiled code where there is some; the reference must find the same, or damage as well."""
    try:
        found = read(value)
    except (DamageError, ValueError):
        with pytest.raises((DamageError, ValueError)):
            reference(value)
        raise
    assert reference(value) == found
    return found


def _compare(identity: bytes, other: bytes) -> None:
    """Compare an identity, in both orders; then read it."""
    for pair in ((identity, other), (other, identity), (identity, identity)):
        compare_layouts(*pair)
        is_little_read(*pair)
        is_refresh(*pair)
        why_different(*pair)
        for equal_text in (True, False):
            why_siblings(*pair, equal_text=equal_text)
    unpack_identity(identity)


def _sketches(name: str) -> Kind:
    """Return the sketches of a detector; reading is comparing them."""
    (detector,) = _detectors(name)
    pages = [Features(Page.from_text(text)) for text in (ENGLISH, CHINESE, f"{ENGLISH} {CHINESE}")]
    sketches = [found.sketch for page in pages if (found := detector.fingerprint(page))]

    def compare(sketch: bytes) -> None:
        for pair in ((sketch, sketches[0]), (sketches[0], sketch), (sketch, sketch)):
            match, assessment = detector.compare(*pair), detector.assess(*pair)
            assert (match is None) == (assessment.match is None)
            assert match is None or 0 <= match.similarity <= 1

    return Kind(f"sketch of {name}", sketches, compare)


# -- checksums ------------------------------------------------------------------------------------


def _seal(value: bytes) -> bytes:
    return value[:1] + crc32(value[5:]).to_bytes(4, "big") + value[5:]


def _seal_packed(value: bytes) -> bytes:
    return value[:1] + crc32(value[5:], *value[:1]).to_bytes(4, "big") + value[5:]


def _seal_value(value: bytes) -> bytes:
    start = 14 if value[6:8] == b"\xff\xff" else 8
    if len(value) <= start:
        return value
    if value[start] >> 5 != 7:
        return value[:start] + _seal_packed(value[start:])
    checksum = crc32(value[start + 5 :], crc32(value[:start], value[start]))
    return value[: start + 1] + checksum.to_bytes(4, "big") + value[start + 5 :]
