"""Values of a sharded namespace: records without their keys, which are computed from what is there."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Deduplicator, Page
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import DETECTORS, build_detectors, schemes
from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import IDENTITY_BYTES, KEY_BYTES, Record, bucket_keys, scheme_json, url_key
from dedupcrawl.stores.redis.packed_records import pack_record
from dedupcrawl.stores.redis.packed_urls import pack_url
from dedupcrawl.stores.redis.sharded.packed_values import ValueCodec, filed_in, seen_in
from dedupcrawl.stores.redis.sharded.stored_sketches import stored_sketches
from dedupcrawl.utils.redaction import SecretSeed
from tests.stores.factories import START, record
from tests.texts import CHINESE, ENGLISH

NOW = round(1000 * START) + 700  #: milliseconds
TIMES, HEAD = 8, 8  #: bytes of the times, and of head, checksum and low bits
SEEDS = [0, 7, SecretSeed(2**63 + 11)]
LEAN: list[dict[str, dict[str, object]]] = [{"exact": {}}, {"minhash": {}}, {"exact": {}, "minhash": {}}]
LEAN += [{"exact": {}, "minhash": {"slots": slots}} for slots in (16, 64, 256)]
LEAN += [{"exact": {}, "minhash": {"threshold": 0.5, "filed": 64, "seed": 5}}]
OTHERS: list[dict[str, dict[str, object]]] = [{name: {}} for name in DETECTORS if name not in {"exact", "minhash"}]
OTHERS += [{"exact": {}, "minhash": {}, "simhash": {}}, {name: {} for name in DETECTORS}]
TEXTS = [ENGLISH, CHINESE, f"{CHINESE} {ENGLISH}", ENGLISH[:60], "Ice. 冰。"]


def codec_of(config: Config) -> ValueCodec:
    secret = config.seed if isinstance(config.seed, SecretSeed) else None
    scheme = scheme_json(schemes(build_detectors(config), config))
    assert secret is None or str(int(secret)) not in scheme
    return ValueCodec(scheme, secret)


@cache
def default_codec() -> ValueCodec:
    return codec_of(Config(detectors=("exact", "minhash")))


def _filed(config: Config, text: str, url: str) -> Record | None:
    with Deduplicator(config=config) as dedup:
        page = dedup.read(text=text, url=url)
        assert isinstance(page, Page)
        found = dedup.fingerprint(page)
        return found if isinstance(found, Record) else None


def is_lean(value: bytes) -> bool:
    return value[TIMES] >> 5 == 7


def reference_of(codec: ValueCodec) -> ValueCodec:
    """Return a codec like this one, without compiled code."""
    found = copy(codec)
    found.is_compiled = False
    return found


def checked(codec: ValueCodec, page: Record, filed: int = NOW, seen: int = NOW - 40) -> bytes:
    """Pack a record; what is read must be what was packed, its keys included, with and without compiled code."""
    reference = reference_of(codec)
    value = codec.pack(page, filed, seen)
    assert reference.pack(page, filed, seen) == value
    assert codec.unpack(value, lambda: "a") == reference.unpack(value, lambda: "a")
    if abs(seen / 1000 - page.seen) <= 1:  # else the time is that of the servers
        assert codec.unpack(value, lambda: "a") == replace(page, probes=None)
    assert (filed_in(value), seen_in(value)) == (filed, seen)
    return value


@settings(deadline=None)
@given(
    st.sampled_from(range(len(TEXTS))),
    st.binary(max_size=260),
    st.text(max_size=130),
    st.integers(0, 1 << 47) | st.integers(NOW - 70_000, NOW + 70_000),
    st.integers(0, 1 << 47) | st.integers(NOW - 70_000, NOW + 70_000),
    st.floats(-1e12, 1e12) | st.floats(START - 3, START + 3),
)
def test_compiled_values_are_those_of_python(
    number: int, identity: bytes, cluster: str, filed: int, seen: int, time: float
) -> None:
    page = replace(_page_of(number), identity=identity, cluster=cluster, seen=time)
    if len(identity) > IDENTITY_BYTES:
        with pytest.raises(StoreError):
            default_codec().pack(page, filed, seen)
    else:
        checked(default_codec(), page, filed, seen)


@cache
def _page_of(number: int) -> Record:
    """A page; one of them is so short that it has no sketch of ``minhash``."""
    page = _filed(Config(detectors=("exact", "minhash"), min_chars=0), TEXTS[number], "http://a.example/1")
    assert page is not None
    return page


@settings(deadline=None)
@given(st.sampled_from(range(len(TEXTS))), st.data())
def test_compiled_code_finds_the_same_damage_as_python(number: int, data: st.DataObject) -> None:
    codec = default_codec()
    value = bytearray(
        codec.pack(replace(_page_of(number), identity=b"identity", cluster="c", seen=START), NOW, NOW - 40)
    )
    del value[data.draw(st.integers(0, len(value))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if value:
            value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    if len(value) > TIMES + HEAD and data.draw(st.booleans()):  # a checksum that fits
        body = crc32(value[TIMES + 5 :], crc32(value[:TIMES], value[TIMES]))
        value[TIMES + 1 : TIMES + 5] = body.to_bytes(4, "big")
    assert _outcome(codec, bytes(value)) == _outcome(reference_of(codec), bytes(value))


def _outcome(codec: ValueCodec, value: bytes) -> object:
    try:
        return codec.unpack(value, lambda: "a")
    except DamageError as error:
        return type(error), str(error)


@pytest.mark.parametrize("seed", SEEDS, ids=["none", "number", "secret"])
@pytest.mark.parametrize("detectors", LEAN, ids=repr)
def test_the_keys_of_a_page_are_computed(detectors: dict[str, dict[str, object]], seed: int) -> None:
    config = Config(detectors=detectors, seed=seed, min_chars=100)
    codec = codec_of(config)
    pages = [found for text in TEXTS for url in ("", "http://a.example/1") if (found := _filed(config, text, url))]
    assert len(pages) > 3
    for page in pages:
        page = replace(page, seen=START)  # noqa: PLW2901  # of the clock of this machine
        value = checked(codec, page)
        assert is_lean(value)
        assert not any(key in value for key in page.keys)
        parts = (*page.sketches, page.identity, pack_url(page.url))
        assert len(value) <= TIMES + HEAD + 1 + sum(map(len, parts))


@pytest.mark.parametrize("detectors", OTHERS, ids=repr)
def test_keys_that_cannot_be_computed_are_stored(detectors: dict[str, dict[str, object]]) -> None:
    config = Config(detectors=detectors)
    codec = codec_of(config)
    pages = [found for text in TEXTS[:3] if (found := _filed(config, text, "http://a.example/1"))]
    assert pages
    for page in pages:
        assert not is_lean(checked(codec, replace(page, seen=START)))


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=400), st.sampled_from(SEEDS), st.booleans())
def test_any_text_is_read_as_it_was_written(text: str, seed: int, has_exact: bool) -> None:
    names = ("exact", "minhash") if has_exact else ("minhash",)
    config = Config(detectors=names, seed=seed, min_chars=0)
    page = _filed(config, text, "http://a.example/ä")
    if page is not None:
        assert is_lean(checked(codec_of(config), replace(page, seen=START)))


@settings(deadline=None)
@given(st.data())
def test_the_keys_of_any_sketch_are_those_of_the_detector(data: st.DataObject) -> None:
    slots = data.draw(st.sampled_from([16, 32, 64, 128, 256]))
    constants = {
        "slots": slots,
        "threshold": data.draw(st.floats(0.1, 1.0)),
        "filed": data.draw(st.sampled_from([16, 32, 128])),
        "miss_weight": data.draw(st.floats(0.1, 1.0)),
        "seed": data.draw(st.integers(0, 2**64 - 1)),
    }
    config = Config(detectors={"minhash": constants})
    (minhash,) = build_detectors(config)
    numbers = st.integers(1, 2**32 - 1)
    sizes = data.draw(numbers).to_bytes(4, "little") + data.draw(numbers).to_bytes(4, "little")
    sketch = b"M" + sizes + data.draw(st.binary(min_size=slots, max_size=slots))
    keys = bucket_keys([(0, minhash.keys_from_sketch(sketch) or ())])
    page = Record("http://a", (url_key("http://a"), *keys), (sketch, bytes(16)), START)
    codec = codec_of(config)
    assert is_lean(checked(codec, page))
    assert not is_lean(checked(codec, replace(page, keys=(*page.keys[:-1], b"others"))))


@given(
    st.text(st.characters(), max_size=60),
    st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), max_size=12),
    st.lists(st.binary(max_size=200), max_size=4),
    st.text(max_size=300),
    st.binary(max_size=IDENTITY_BYTES),
)
def test_any_record_is_read_as_it_was_written(
    url: str, keys: list[bytes], sketches: list[bytes], cluster: str, identity: bytes
) -> None:
    checked(default_codec(), Record(url, tuple(keys), tuple(sketches), START, cluster, identity=identity))


def lean_record(cluster: str = "", identity: bytes = b"") -> Record:
    exact = bytes(range(16))
    url = "https://a.example/0123456789abcdef.html"
    keys = (url_key(url), *bucket_keys([(0, (exact,))]))
    return Record(url, keys, (exact, b""), START, cluster, identity=identity)


@pytest.mark.parametrize("cluster", ["", "c", "é" * 127, "c" * 256])
@pytest.mark.parametrize("identity", [b"", b"i", bytes(IDENTITY_BYTES)])
def test_what_a_record_does_not_have_takes_no_bytes(cluster: str, identity: bytes) -> None:
    page = lean_record(cluster, identity)
    value = checked(default_codec(), page)
    assert is_lean(value) == (len(cluster) < 256)
    if is_lean(value):
        extra = sum(len(part) + 1 for part in (cluster.encode(), identity) if part)
        assert len(value) == TIMES + HEAD + 16 + len(pack_url(page.url)) + extra


def test_stored_bytes_do_not_change() -> None:
    assert default_codec().pack(lean_record("c", b"id"), NOW, NOW - 40).hex() == (
        "018bcfe56abc0410faf508001c0000000269640163"
        "000102030405060708090a0b0c0d0e0f"
        "013314233186d743208810000123456789abcdef"
    )


@pytest.mark.parametrize("seen", [0, NOW - 10**9, NOW - 64_534, NOW - 64_535, NOW, NOW + 1000, NOW + 1001, 2 * NOW])
def test_any_times_are_kept(seen: int) -> None:
    for page in (lean_record(), record("http://a", 1)):
        value = default_codec().pack(replace(page, seen=seen / 1000), NOW, seen)
        assert (filed_in(value), seen_in(value)) == (NOW, seen)
        assert default_codec().unpack(value, lambda: "a").seen == pytest.approx(seen / 1000, abs=1e-6)
        assert (len(value[TIMES:]) > len(default_codec().pack(page, NOW, NOW)[TIMES:])) == (
            not NOW - 64_535 < seen <= NOW + 1000
        )


@given(st.data())
def test_a_damaged_record_is_noticed(data: st.DataObject) -> None:
    value = default_codec().pack(lean_record("c", b"id"), NOW, data.draw(st.sampled_from([NOW, 0])))
    at = data.draw(st.integers(0, len(value) - 1))
    changed = value[:at] + bytes((value[at] ^ data.draw(st.integers(1, 255)),)) + value[at + 1 :]
    for damaged in (changed, value[:at]):
        with pytest.raises(DamageError, match=r"^The record under 'a' is damaged"):
            default_codec().unpack(damaged, lambda: "a")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(StoreError, match="has an identity of more than 255 bytes"):
        default_codec().pack(lean_record(identity=bytes(IDENTITY_BYTES + 1)), NOW, NOW)


@pytest.mark.parametrize(
    "scheme",
    [
        "{}",
        '{"text":{}}',
        '{"exact":{"bits":128}}',
        '{"exact":{"version":2,"seed":0}}',
        '{"minhash":{"version":1,"seed":0,"slots":128,"bands":6,"rows":5}}',
        '{"minhash":{"version":2,"seed":"secret","slots":128,"bands":6,"rows":5}}',
    ],
)
def test_a_scheme_of_other_constants_computes_no_keys(scheme: str) -> None:
    codec = ValueCodec(scheme)
    value = checked(codec, lean_record())
    assert value[TIMES:] == pack_record(lean_record())
    with pytest.raises(DamageError, match="has layout 7, not"):
        codec.unpack(default_codec().pack(lean_record(), NOW, NOW), lambda: "a")


@settings(deadline=None)
@given(st.data())
def test_the_compiled_kernel_computes_the_same_keys(data: st.DataObject) -> None:
    names = data.draw(st.sampled_from([("exact",), ("minhash",), ("exact", "minhash")]))
    config = Config(detectors=names, seed=data.draw(st.integers(0, 2**64 - 1)))
    known = stored_sketches(schemes(build_detectors(config), config), None)
    assert known is not None
    text = data.draw(st.sampled_from([b"", bytes(15)]) | st.binary(min_size=16, max_size=16))
    slots = data.draw(st.binary(min_size=128, max_size=128))
    sketch = data.draw(st.sampled_from([b"", b"M" + bytes(8) + slots, b"N" + bytes(8) + slots, b"M" + slots]))
    sketches = {("exact",): (text,), ("minhash",): (sketch, text), ("exact", "minhash"): (text, sketch)}[names]
    assert known.keys(sketches) == known.keys_by_reference(sketches)
    assert known.keys((*sketches, b"")) is None


def test_the_kernel_refuses_what_are_no_sketches() -> None:
    config = Config(detectors=("exact", "minhash"))
    known = stored_sketches(schemes(build_detectors(config), config), None)
    assert known is not None
    maker = known.maker
    if maker is None:
        pytest.skip("the kernel is not compiled")
    for arguments in ((), (b"",), (b"", ""), ("", b""), (b"", b"", b"")):
        with pytest.raises(TypeError, match="takes the hash of a text, and a sketch"):
            maker.keys(*arguments)
