"""A store across a network that tests can make slow, unreachable or without answers, from any process."""

from __future__ import annotations

import json
import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from dedupcrawl import deduplicator
from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings


class Network:
    """The network to a store in a folder: files in the folder define its faults, and its calls are recorded there.

    ``away``: no call arrives. ``deaf``: calls arrive, and their answers are lost. ``no-NAME``: the next call
    of that name does not arrive.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    @property
    def url(self) -> str:
        return f"distant://{self.folder}"

    @property
    def lmdb(self) -> str:
        """The URL of the store without the network."""
        return f"lmdb://{self.folder}/store"

    def cut(self, how: str = "away") -> None:
        (self.folder / how).touch()

    def mend(self) -> None:
        for how in ("away", "deaf"):
            (self.folder / how).unlink(missing_ok=True)

    def has_fault(self, how: str) -> bool:
        return (self.folder / how).exists()

    def clears_fault(self, how: str) -> bool:
        """Whether a fault is set; clears it."""
        try:
            (self.folder / how).unlink()
        except FileNotFoundError:
            return False
        return True

    def notes(self) -> list[dict[str, Any]]:
        """Return the recorded calls of each process."""
        return [json.loads(path.read_text()) for path in self.folder.glob("notes-*")]


class Distant(Store):
    """Forwards every call to another store, unless the network has a fault."""

    remote = True

    def __init__(self, inner: Store, network: Network, latency: float) -> None:
        self.inner = inner
        self.network = network
        self.latency = latency
        self.lock = threading.Lock()
        self.now = 0
        self.note = {"calls": 0, "most": 0, "main": 0, "first": time.monotonic(), "last": 0.0}

    def through(self, name: str, call: Callable[..., Any], *args: Any) -> Any:
        with self.lock:
            self.now += 1
            self.note["calls"] += 1
            self.note["most"] = max(self.note["most"], self.now)
            self.note["main"] += threading.current_thread() is threading.main_thread()
        try:
            time.sleep(self.latency)
            if self.network.has_fault("away") or self.network.clears_fault(f"no-{name}"):
                raise StoreUnreachableError("The store distant:// cannot be reached: connection refused.")
            answer = call(*args)
            if self.network.has_fault("deaf"):
                raise StoreUnreachableError("The store distant:// does not answer: timed out.")
            return answer
        finally:
            with self.lock:
                self.now -= 1
                self.note["last"] = time.monotonic()

    def close(self) -> None:
        try:
            self.through("close", lambda: None)
            self.inner.close()  # else it sees nothing of this worker any more, until its leases or its process end
        finally:
            path = self.network.folder / f"notes-{os.getpid()}-{id(self)}"
            path.write_text(json.dumps(self.note))


def _handing_on(name: str) -> Callable[..., Any]:
    def method(self: Distant, *args: Any) -> Any:
        return self.through(name, getattr(self.inner, name), *args)

    return method


for _name in Store.__abstractmethods__ - {"close"}:
    setattr(Distant, _name, _handing_on(_name))
Distant.__abstractmethods__ = frozenset()


def open_distant(latency: float, url: str, **how: Any) -> Store:
    """Open ``distant://FOLDER?latency=SECONDS``."""
    address = urlsplit(url)
    network = Network(Path(address.path))
    if network.has_fault("away"):
        raise StoreUnreachableError("The store distant:// cannot be reached: connection refused.")
    latency = float(dict(parse_qsl(address.query)).get("latency", latency))
    return Distant(open_store(network.lmdb, **how), network, latency)  # type: ignore[abstract]  # see above


class DistantAddon:
    """Teaches the process the scheme ``distant://``."""

    def update_settings(self, settings: BaseSettings) -> None:
        opening: Any = partial(open_distant, settings.getfloat("LATENCY", 0.0))
        vars(deduplicator)["open_store"] = opening
