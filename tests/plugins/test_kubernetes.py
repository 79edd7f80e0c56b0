"""The manifest in examples/kubernetes: it is valid, and its commands crawl as documented, without a cluster."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from kubernetes_validate import ValidationError, latest_version, validate
from redis import Redis
from redis.exceptions import RedisError

from tests.examples.conftest import origins
from tests.examples.project import CONTENTS, ROOT, Project, counted, eventually, faults
from tests.stores.servers import binaries, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["origins"]

FOLDER = ROOT / "examples" / "kubernetes"
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((FOLDER / "articles.yaml").read_text("utf-8")))
BY_NAME = {(each["kind"], each["metadata"]["name"]): each for each in OBJECTS}
SECRET: Mapping[str, str] = BY_NAME["Secret", "valkey"]["stringData"]
VALKEY: dict[str, Any] = BY_NAME["StatefulSet", "valkey"]["spec"]
WORKERS: dict[str, Any] = BY_NAME["Job", "workers"]["spec"]
FAST = ("-s", "DOWNLOAD_DELAY=0", "-s", 'EXTENSIONS={"tests.examples.hurry.Heartbeat": 0}')


def container(spec: Mapping[str, Any]) -> dict[str, Any]:
    [only] = spec["template"]["spec"]["containers"]
    return dict(only)


def variables(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a container, as Kubernetes sets it."""
    found = {}
    for each in container(spec)["env"]:
        source = each["valueFrom"]
        if "secretKeyRef" in source:
            assert source["secretKeyRef"]["name"] == "valkey"
            found[each["name"]] = SECRET[source["secretKeyRef"]["key"]]
        else:
            [name] = re.findall(r"metadata\.annotations\['(.+)'\]", source["fieldRef"]["fieldPath"])
            found[each["name"]] = annotations[name]
    return found


def command(spec: Mapping[str, Any], values: Mapping[str, str]) -> list[str]:
    """Return the command of a container with the variables that it refers to."""
    return [re.sub(r"\$\((\w+)\)", lambda named: values[named[1]], part) for part in container(spec)["command"]]


@pytest.mark.parametrize("each", OBJECTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_each_object_is_valid(each: dict[str, Any]) -> None:
    validate(each, latest_version(), strict=True)
    with pytest.raises(ValidationError, match="replica"):
        validate({**each, "replica": 1}, latest_version(), strict=True)


def test_the_names_in_the_manifest_belong_together() -> None:
    labels = VALKEY["template"]["metadata"]["labels"]
    service = BY_NAME["Service", VALKEY["serviceName"]]["spec"]
    assert service["selector"] == VALKEY["selector"]["matchLabels"] == labels
    [port] = [each["containerPort"] for each in container(VALKEY)["ports"]]
    assert [each["port"] for each in service["ports"]] == [port]
    assert SECRET["REDIS_URL"] == f"redis://:{SECRET['password']}@{VALKEY['serviceName']}:{port}/0"
    [data] = VALKEY["volumeClaimTemplates"]
    assert container(VALKEY)["volumeMounts"] == [{"name": data["metadata"]["name"], "mountPath": "/data"}]
    assert VALKEY["replicas"] == 1
    [volume] = WORKERS["template"]["spec"]["volumes"]
    assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in BY_NAME
    image = (ROOT / "examples" / "compose" / "Dockerfile").read_text("utf-8")
    [mount] = container(WORKERS)["volumeMounts"]
    assert f"WORKDIR {mount['mountPath']}\n" in image, "where the workers write their files"
    assert (WORKERS["completionMode"], WORKERS["completions"]) == ("Indexed", WORKERS["parallelism"])


def test_workers_of_the_manifest_keep_each_article_once(
    tmp_path: Path, origins: dict[str, str], commands: Path
) -> None:
    port = free_port()
    local = {"valkey:6379": f"127.0.0.1:{port}", "/data": str(tmp_path)}
    server = command(VALKEY, variables(VALKEY, {}))
    url = SECRET["REDIS_URL"].replace("valkey:6379", local["valkey:6379"])
    project = Project(tmp_path / "project", url, origins, commands)
    try:
        program = str(binaries()[server[0].removesuffix("-server")])
        options = [local.get(part, part) for part in server[1:]]
        project.begin([program, *options, "--port", str(port)], "valkey")
        with Redis.from_url(url, retry=None) as redis:
            eventually(lambda: is_up(redis), "no server")
            assert redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            assert redis.config_get("appendonly") == {"appendonly": "yes"}
        project.push()
        numbers = [str(number) for number in range(WORKERS["completions"])]
        annotated = [{"batch.kubernetes.io/job-completion-index": number} for number in numbers]
        crawls = [command(WORKERS, variables(WORKERS, each)) for each in annotated]
        assert {each[0] for each in crawls} == {"scrapy"}
        started = [project.begin([*each, *FAST], f"worker-{number}") for number, each in enumerate(crawls)]
        eventually(lambda: project.contents(*numbers).keys() == CONTENTS, "articles are missing")
        for worker in started:
            worker.process.send_signal(signal.SIGTERM)  # as the deletion of a pod does
        logs = [worker.wait() for worker in started]
        stored = project.contents(*numbers)
    finally:
        project.end()
    assert stored == dict.fromkeys(CONTENTS, 1)
    assert sum(counted(log)["kept"] for log in logs) == len(CONTENTS)
    assert [fault for log in logs for fault in faults(log)] == []


def is_up(redis: Redis) -> bool:
    try:
        return bool(redis.ping())
    except RedisError:
        return False
