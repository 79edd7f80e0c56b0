"""What servers of all versions say when a script may not do something, told alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redis.exceptions import ClusterDownError, MasterDownError, OutOfMemoryError, ResponseError, TryAgainError

from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.redis.sentences import told
from tests.stores.making import record

if TYPE_CHECKING:
    from tests.stores.servers import Server

BEFORE = "Error running script (call to f_3270b3): @user_script:598: @user_script: 598: "
BEHIND = " script: on @user_script:262."


@pytest.mark.parametrize(
    ("error", "kind", "match"),
    [
        (
            OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
            StoreFullError,
            "is full: its server has reached maxmemory",
        ),
        (
            ResponseError(f"{BEFORE}-OOM command not allowed when used memory > 'maxmemory'."),
            StoreFullError,
            "is full: its server has reached maxmemory",
        ),
        (
            ResponseError(f"{BEFORE}-READONLY You can't write against a read only replica."),
            StoreError,
            "its server is a read-only replica; name the primary",
        ),
        (
            ResponseError(f"{BEFORE}The user executing the script can't run this command or subcommand"),
            StoreError,
            "does not allow this user what is needed: can't run this command",
        ),
        (
            ResponseError(
                f"ACL failure in script: User w has no permissions to run the 'hset' command{BEHIND}"
            ),
            StoreError,
            "does not allow this user what is needed: User w has no permissions to run the 'hset' command.$",
        ),
        (
            ResponseError(f"{BEFORE}-NOREPLICAS Not enough good replicas to write."),
            StoreUnreachableError,
            "takes no writes, for its server lacks replicas: NOREPLICAS",
        ),
        (
            ResponseError(f"NOREPLICAS Not enough good replicas to write.{BEHIND}"),
            StoreUnreachableError,
            "takes no writes, for its server lacks replicas: NOREPLICAS Not enough good replicas to write.$",
        ),
        (
            ResponseError(f"{BEFORE}-MISCONF Redis is configured to save RDB snapshots"),
            StoreUnreachableError,
            "takes no writes, for its server cannot save: MISCONF",
        ),
        (ClusterDownError("The cluster is down"), StoreUnreachableError, "cannot be used now: .*is down"),
        (MasterDownError("Link with MASTER is down"), StoreUnreachableError, "cannot be used now: .*is down"),
        (TryAgainError("Multiple keys request"), StoreUnreachableError, "cannot be used now: "),
        (ResponseError("DB index is out of range"), StoreError, "cannot be used: DB index is out of range"),
    ],
)
def test_a_refusal_is_told_alike_by_every_version(
    error: Exception, kind: type[StoreError], match: str
) -> None:
    said = told("redis://a", error)
    assert type(said) is kind
    with pytest.raises(StoreError, match=match):
        raise said


def test_a_user_who_may_run_scripts_but_not_their_commands_is_told(server: Server) -> None:
    rights = ["~dedupcrawl:*", "+@hash", "-hset", "+@connection", "+time", "+eval", "+evalsha"]
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">pw", *rights)
    with pytest.raises(StoreError, match="does not allow this user what is needed: "):
        open_store(f"redis://few:pw@127.0.0.1:{server.port}/0", namespace="news", scheme={})


def test_a_server_without_the_replicas_that_it_wants_is_as_good_as_away(server: Server) -> None:
    with open_store(server.url, namespace="news", scheme={}) as store, server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        try:
            with pytest.raises(StoreUnreachableError, match="lacks replicas"):
                store.offer(record("http://a", "story"))
        finally:
            client.config_set("min-replicas-to-write", 0)
        assert store.offer(record("http://a", "story")).id is not None
