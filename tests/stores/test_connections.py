"""More threads than connections: those that find none wait for one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.stores import open_store
from tests.stores.making import file

if TYPE_CHECKING:
    from tests.stores.servers import Server


@pytest.mark.parametrize("most", [1, 3])
def test_threads_share_few_connections(server: Server, most: int) -> None:
    url = f"{server.url}?max_connections={most}&client_name=few{most}"
    with open_store(url, namespace=f"few{most}", scheme={}) as store, ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: file(store, f"http://a/{n}", f"story{n}"), range(100)))
        assert store.info().pages == 100
        with server.client() as client:
            ours = [each for each in client.client_list() if each["name"] == f"few{most}"]
        assert 1 <= len(ours) <= most
