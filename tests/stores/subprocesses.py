"""The functions that tests run in other processes; a new process imports them."""

from __future__ import annotations

import os
import time
from random import Random
from typing import TYPE_CHECKING

import lmdb

from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import Store, url_key
from tests.stores.factories import record

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SCHEME = {"exact": {"bits": 128}}


def open_here(url: str, namespace: str = "news") -> Store:
    return open_store(url, namespace=namespace, scheme=SCHEME, lease=3600.0)


def offer_all(url: str, worker: int, pages: int) -> list[int]:
    """Offer every story in random order; return those that this worker kept first."""
    order = list(range(pages))
    Random(worker).shuffle(order)
    kept = []
    with open_here(url) as store:
        for n in order:
            # The second name is shared by neighbours, so that a found candidate is no copy at times.
            page = record(f"http://site-{worker}/{n}", f"story {n}", f"pair {n // 2}")
            copies, since = False, 0
            while True:
                offer = store.offer(page, since)
                copies |= any(hit.record.keys[0] == page.keys[0] for hit in offer.candidates)
                if offer.id is not None or copies:
                    break
                since = offer.candidates[-1].id
            if offer.id is not None:
                kept.append(n)
                store.commit([offer.id])
    return kept


def fill(url: str, worker: int, pages: int) -> int:
    """File pages of several kilobytes, all different."""
    with open_here(url) as store:
        for n in range(pages):
            offer = store.offer(record(f"http://site-{worker}/{n}/" + "x" * 4000, worker * pages + n))
            assert offer.id is not None
            store.commit([offer.id])
        return pages


def claim_and_hang(url: str, claims: int, ready: Connection) -> None:
    """Claim pages, mark every other one as scraped, commit one, and wait to be killed."""
    store = open_here(url)
    ids = [store.offer(record(f"http://killed/{n}", f"story {n}")).id for n in range(claims)]
    for id in ids[::2]:
        assert id is not None
        store.scraped(id)
    assert ids[0] is not None
    store.commit([ids[0]])
    ready.send(ids)
    time.sleep(600)


def write_until_killed(url: str, worker: int, ready: Connection) -> None:
    """Claim, commit and release without end, reporting which pages were committed."""
    store = open_here(url)
    for n in range(10**9):
        page = record(f"http://site-{worker}/{n}", f"story {worker} {n}")
        offer = store.offer(page)
        assert offer.id is not None
        if n % 3:
            store.commit([offer.id])
            ready.send((n, offer.id))
        else:
            store.release([offer.id])


def take_and_count(url: str, site: str) -> list[bytes]:
    """Take all notes of a site, and count while others do the same; return those that were taken here."""
    taken: list[bytes] = []
    with open_here(url) as store:
        for _ in range(150):
            store.notes.add("counts", site, {b"a": 1})
            some = store.notes.take("skipped", site, 3, 600.0)
            store.notes.write("skipped", site, dict.fromkeys(some))
            taken += some
    return taken


def read_and_hang(folder: str, ready: Connection) -> None:
    """Start a read transaction, and wait to be killed."""
    with lmdb.open(folder, max_dbs=9) as environment, environment.begin():
        ready.send("reading")
        time.sleep(600)


def readers(folder: str) -> str:
    """Return LMDB's table of the read transactions of all processes."""
    with lmdb.open(folder, max_dbs=9) as environment:
        return str(environment.readers())


def use_parents(store: Store) -> str:
    """Use, in a forked child, the store that the parent opened; return the result."""
    try:
        store.find([url_key("http://a")])
    except Exception as error:  # noqa: BLE001  # whatever it is, the parent compares it
        return f"{type(error).__name__}: {error}"
    return "nothing"


def open_own(url: str) -> int:
    """Open another store in a forked child, and file a page."""
    with open_here(url) as store:
        id = store.offer(record(f"http://child/{os.getpid()}", f"child {os.getpid()}")).id
        assert id is not None
        store.commit([id])
        return id
