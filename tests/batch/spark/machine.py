"""The requirements of Spark on this machine, and settings for small test runs."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dedupcrawl.batch.spark import check_installed
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from pathlib import Path

#: Compiling hot code to the utmost takes longer than such small runs do, and so does dropping compiled code, or looking
#: for classes to unload, to keep memory small.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-XX:ReservedCodeCacheSize=200m -XX:MetaspaceSize=300m"
)


def why_not() -> str | None:
    """The missing requirement; None if there is none."""
    try:
        check_installed()
        if find_spec("pyspark"):
            from dedupcrawl.batch.spark import check_java

            check_java()
    except DedupError as error:
        return str(error)
    return None


def small(local: Path, **more: str) -> dict[str, str]:
    """Return the environment in which the driver of Spark uses little memory."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(local),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.memory": "600m",
        **more,
    }
    words = ["--driver-java-options", JAVA_OPTIONS]
    for name, value in settings.items():
        words += ["--conf", f"{name}={value}"]
    return {"PYSPARK_SUBMIT_ARGS": shlex.join([*words, "pyspark-shell"]), "SPARK_LOCAL_IP": "127.0.0.1"}
