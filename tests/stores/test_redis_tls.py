"""Stores over TLS. The server may be built without it, so a front that speaks TLS passes the bytes on."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack, contextmanager, suppress
from select import select
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.stores import list_namespaces
from tests.stores.certificates import make_certificates
from tests.stores.factories import file, record
from tests.stores.servers import Cluster
from tests.stores.sharding import keep, sharded, story
from tests.stores.test_redis_errors import open_at, refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.stores.servers import Server


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("tls"))


def test_tls_is_spoken_and_its_failures_are_reported(server: Server, certificates: Path) -> None:
    with tls_front(server.port, certificates) as port:
        url = f"rediss://127.0.0.1:{port}/0"
        with open_at(f"{url}?ssl_ca_certs={certificates}/ca") as store:
            file(store, "http://a", "story")
            offers = store.add_many([record(f"http://b/{n}", f"b{n}") for n in range(300)])
            assert [offer.id for offer in offers] == [*range(2, 302)]
        assert list_namespaces(f"{url}?ssl_ca_certs={certificates}/ca") == ["news"]
        with open_at(f"{url}?ssl_cert_reqs=none&ssl_check_hostname=false") as store:
            assert store.lookup("http://a") is not None
        refused(url, "cannot be reached over TLS: .*certificate verify failed")
        refused(f"{url}?ssl_ca_certs=/absent", "cannot be reached")
        refused(f"redis://127.0.0.1:{port}/0", "cannot be reached")
    refused(f"rediss://127.0.0.1:{server.port}/0?socket_timeout=2", "cannot be reached")


def test_the_certificate_of_another_host_is_refused(server: Server, certificates: Path) -> None:
    with tls_front(server.port, certificates, "other") as port:
        url = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificates}/ca"
        refused(url, "cannot be reached over TLS: .*IP address mismatch")
        with open_at(f"{url}&ssl_check_hostname=false") as store:
            file(store, "http://a", "story")


def test_a_server_may_ask_for_a_certificate_of_the_client(server: Server, certificates: Path) -> None:
    with server.client() as client:
        rights = ["~dedupcrawl:*", "+@hash", "+@connection", "+time", "+evalsha", "+eval"]
        client.execute_command("ACL", "SETUSER", "worker", "reset", "on", ">hunter2", *rights)
    with tls_front(server.port, certificates, asks=True) as port:
        url = f"rediss://worker:hunter2@127.0.0.1:{port}/0?ssl_ca_certs={certificates}/ca"
        with open_at(f"{url}&ssl_certfile={certificates}/client&ssl_keyfile={certificates}/client.key") as store:
            file(store, "http://a", "story")
            assert store.lookup("http://a") is not None
        refused(url, "cannot be reached")


def test_a_cluster_speaks_tls(certificates: Path) -> None:
    """Each node announces the port of its front, and a slot moves to another node meanwhile."""
    cluster = Cluster(replicas=0)
    try:
        cluster.start()
        with ExitStack() as fronts:
            ports = [fronts.enter_context(tls_front(node.port, certificates)) for node in cluster.nodes]
            announce(cluster, ports)
            address = f"rediss-cluster://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}"
            with sharded(f"{address}?ssl_ca_certs={certificates}/ca") as store:
                pages = [story(n, f"http://a/{n}") for n in range(40)]
                assert len(keep(store, pages[:20], 20)) == 20
                assert {port for _, port in store.protocol.wire.map.replicas} == {*ports}
                layout = store.protocol.layout
                cluster.move_slot(layout.look(layout.new_id(pages[0].own_keys[0], 100)).slot, 0)
                copies = [story(n, f"http://b/{n}") for n in range(40)]
                assert keep(store, copies, 20) == copies[20:]
            assert list_namespaces(f"{address}?ssl_ca_certs={certificates}/ca") == ["news"]
            refused(address, "cannot be reached over TLS: .*certificate verify failed")
            refused(f"redis-cluster://127.0.0.1:{ports[0]}", "cannot be reached")
    finally:
        cluster.remove()


def announce(cluster: Cluster, ports: Sequence[int]) -> None:
    for node, port in zip(cluster.nodes, ports, strict=True):
        with node.client() as client:
            client.execute_command("CONFIG", "SET", "cluster-announce-port", port)

    def all_know(node: Server) -> bool:
        with node.client() as client:
            ranges = client.execute_command("CLUSTER", "SLOTS")
        return {main[1] for _, _, main, *_ in ranges} == {*ports}

    cluster.wait(lambda: all(map(all_know, cluster.nodes)))


@contextmanager
def tls_front(port: int, certificates: Path, name: str = "server", *, asks: bool = False) -> Iterator[int]:
    """Speak TLS in front of a server; ``asks`` for certificates of clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / name, certificates / f"{name}.key")
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates / "ca")

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                Thread(target=answer, args=(peer,), daemon=True).start()

    def answer(peer: socket.socket) -> None:
        with (
            suppress(OSError),
            context.wrap_socket(peer, server_side=True) as front,
            socket.create_connection(("127.0.0.1", port)) as back,
        ):
            while pass_on(front, back):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def pass_on(front: ssl.SSLSocket, back: socket.socket) -> bool:
    """Pass on what has come from either side; return False when one of them has closed."""
    ready = [front] if front.pending() else select([front, back], [], [])[0]
    for source, target in ((front, back), (back, front)):
        if source in ready:
            data = source.recv(1 << 16)
            if not data:
                return False
            target.sendall(data)
    return True
