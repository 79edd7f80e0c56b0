"""A secret seed is drawn once, kept in the store, and never shown."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import DETECTORS, build_detectors, schemes
from dedupcrawl.errors import SettingError, StoreError, StoreMismatchError
from dedupcrawl.stores import open_existing, open_store
from dedupcrawl.stores.base import Store
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.transfer import export_records, import_records, read_header
from dedupcrawl.utils.redaction import SecretSeed
from tests.stores.conftest import emptied
from tests.stores.factories import lmdb_url
from tests.stores.servers import binaries
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.servers import Server


@pytest.fixture(params=["lmdb", *LAYOUTS])
def url(request: pytest.FixtureRequest, tmp_path: Path, servers: dict[str, Server]) -> str:
    if request.param == "lmdb":
        return lmdb_url(tmp_path / "store")
    return emptied(servers[next(iter(binaries()))]).laid_out(request.param)


def opened(url: str, seed: object = "secret") -> Deduplicator:
    return Deduplicator(url, config=Config(seed=seed))  # type: ignore[arg-type]


def secret_of(dedup: Deduplicator) -> int:
    assert isinstance(dedup.config.seed, SecretSeed)
    assert dedup.store.secret == dedup.config.seed
    return int(dedup.config.seed)


def test_workers_share_the_secret_of_their_store(url: str) -> None:
    with opened(url) as one, opened(url) as other:
        assert secret_of(one) == secret_of(other) > 0
        assert one.add(text=ENGLISH, url="http://a/1").keep
        assert other.add(text=ENGLISH + " Yes.", url="http://b/1").of == "http://a/1"
        first = secret_of(one)
    with opened(url) as later:
        assert secret_of(later) == first
        assert not later.add(text=ENGLISH, url="http://c/1").keep


def test_of_workers_that_start_together_one_draws(url: str) -> None:
    with ThreadPoolExecutor(8) as executor:
        dedups = list(executor.map(lambda _: opened(url), range(8)))
    assert len({secret_of(dedup) for dedup in dedups}) == 1
    for dedup in dedups:
        dedup.close()


def test_stores_in_memory_have_a_secret_of_their_own() -> None:
    with opened("memory://") as one, opened("memory://") as other:
        assert secret_of(one) != secret_of(other)
        keys = [each.fingerprint(each.read(text=ENGLISH)).keys for each in (one, other)]  # type: ignore[union-attr, arg-type]
        assert set(keys[0]).isdisjoint(keys[1])


def test_namespaces_have_secrets_of_their_own(url: str) -> None:
    with opened(url) as one, Deduplicator(url, "other", config=Config(seed="secret")) as other:
        assert secret_of(one) != secret_of(other)


def test_a_number_and_a_secret_are_not_mixed(url: str) -> None:
    opened(url, 5).close()
    with pytest.raises(StoreMismatchError, match=r'seed is 5 there, "secret" here'):
        opened(url)


def test_a_secret_and_a_number_are_not_mixed(url: str) -> None:
    with opened(url) as dedup:
        secret = secret_of(dedup)
    with pytest.raises(StoreMismatchError, match=r'seed is "secret" there, 5 here') as caught:
        opened(url, 5)
    assert str(secret) not in str(caught.value)


def test_a_secret_of_another_store_is_refused_without_showing_either(url: str) -> None:
    with opened(url) as dedup:
        secret = secret_of(dedup)
    with pytest.raises(StoreMismatchError, match="was filled with another secret seed") as caught:
        opened(url, SecretSeed(12345))
    assert not {str(secret), "12345"} & set(str(caught.value).split())


def test_an_open_store_without_a_secret_is_refused() -> None:
    with (
        open_store("memory://", namespace="a", scheme={}) as store,
        pytest.raises(StoreError, match="keeps no secret seed"),
    ):
        Deduplicator(store, seed="secret")


def test_a_server_that_lost_its_data_gets_the_same_secret_back(servers: dict[str, Server]) -> None:
    server = emptied(servers[next(iter(binaries()))])
    with opened(server.url) as dedup:
        secret = secret_of(dedup)
        emptied(server)
        assert dedup.add(text=ENGLISH, url="http://a/1").keep
        with opened(server.url) as other:
            assert secret_of(other) == secret
            assert not other.add(text=ENGLISH, url="http://b/1").keep


def test_a_namespace_created_anew_with_another_secret_is_refused(servers: dict[str, Server]) -> None:
    server = emptied(servers[next(iter(binaries()))])
    with opened(server.url) as dedup:
        emptied(server)
        with opened(server.url), pytest.raises(StoreMismatchError, match="created it again with another secret seed"):
            dedup.add(text=ENGLISH, url="http://a/1")


def test_an_export_carries_the_secret_and_does_not_show_it(url: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with opened(url) as dedup:
        secret = secret_of(dedup)
        dedup.add(text=ENGLISH, url="http://a/1")
        export_records(dedup.store, file)
    header = read_header(file)
    assert header.secret == secret
    assert str(secret) not in repr(header)
    lines = gzip.decompress(file.read_bytes()).split(b"\n")[:2]
    assert json.loads(lines[1])["scheme"]["minhash"]["seed"] == "secret"
    assert not [line for line in lines if str(secret).encode() in line]
    target = lmdb_url(tmp_path / "new")
    with open_store(target, namespace="default", scheme=json.loads(header.scheme), secret=header.secret) as store:
        assert import_records(file, store).new == 1
    with opened(target) as copied:
        assert secret_of(copied) == secret
        assert copied.add(text=ENGLISH, url="http://b/1").of == "http://a/1"
    with opened(lmdb_url(tmp_path / "other")) as third, pytest.raises(StoreMismatchError, match="another secret seed"):
        import_records(file, third.store)


def test_nothing_that_is_shown_has_the_secret(url: str) -> None:
    with opened(url) as dedup:
        secret = secret_of(dedup)
        shown = [dedup.scheme, repr(dedup.config), str(dedup.config), repr(build_detectors(dedup.config))]
        with open_existing(url, "default") as store:
            assert store.secret == secret
            shown += [repr(store.info()), str(vars(store))]
    assert not [text for text in shown if str(secret) in text or f"{secret:x}" in text]


@pytest.mark.parametrize("name", DETECTORS)
def test_no_scheme_has_the_secret(name: str) -> None:
    config = Config(detectors=(name,), seed=SecretSeed(1234567890123456789))
    text = json.dumps(schemes(build_detectors(config), config))
    assert "1234567890123456789" not in text
    assert "secret" in text or name == "datasketch"


def test_a_secret_seed_shows_itself_as_secret() -> None:
    seed = SecretSeed(987654321)
    assert f"{seed} {seed!r} {seed:>8} {seed!s}" == "secret 'secret'   secret secret"
    for same in (copy.deepcopy(seed), pickle.loads(pickle.dumps(seed)), SecretSeed.from_stored(seed.stored())):
        assert isinstance(same, SecretSeed)
        assert same == seed == 987654321


def test_without_a_store_a_secret_is_refused() -> None:
    with pytest.raises(SettingError, match="only a store keeps a secret seed"):
        build_detectors(Config(seed="secret"))
    with pytest.raises(SettingError, match='or "secret"'):
        Config(seed="Secret")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_two_secrets_have_no_keys_in_common(text: str) -> None:
    with opened("memory://") as one, opened("memory://") as other:
        found: list[Store] = []
        for dedup in (one, other):
            dedup.add(text=text, url="")
            found.append(dedup.store)
        keys = [next(iter(store.records())).record.keys for store in found]
        assert set(keys[0]).isdisjoint(keys[1])
