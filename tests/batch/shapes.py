"""Corpora of unusual shape, as fingerprints of the detector ``simhash``."""

from __future__ import annotations

from dedupcrawl.stores.base import Record

FLAT = 61  #: odd, so that the changed bits of neighbours lie apart


def chain(count: int) -> list[Record]:
    """A chain of pages: each is like the one before and the one after, and like no other."""
    bits = 0
    records = []
    for number in range(count):
        records.append(_record(number, (2 * number, 2 * number + 2), bits))
        for step in range(2):
            bits ^= 1 << (FLAT * (2 * number + step)) % 64
    return records


def one_bucket(count: int) -> list[Record]:
    """Pages under one key, no two alike: 64 bits of a mixing function."""
    return [_record(number, (7,), _mixed(number)) for number in range(count)]


def _mixed(number: int) -> int:
    """Mix the bits of a number (the finaliser of SplitMix64, Steele, Lea, Flood, OOPSLA 2014)."""
    z = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def _record(number: int, keys: tuple[int, ...], bits: int) -> Record:
    url = f"https://a.example/{number}"
    return Record(url, tuple(key.to_bytes(6, "big") for key in keys), (b"\x48" + bits.to_bytes(8, "little"),), 0.0)
