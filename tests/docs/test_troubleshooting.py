"""Every explained message exists, and every error that a user can cause is explained."""

from __future__ import annotations

import ast
import re

from tests.data import ROOT
from tests.docs.messages import PACKAGE, messages, skeleton

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
#: Sections whose tables are of symptoms, and not of messages.
SYMPTOMS = ("Nothing is dropped", "Too much is dropped")
#: Errors that only somebody who writes to a store by other means than ours can cause.
NOBODYS = {
    "A key is not … bytes long.",
    "The record of … has a key that is not … bytes long.",
    "The record of … has an identity of more than … bytes.",
    "The record of … has too many parts to be filed: ….",
    "The record of … was seen at …, which is no Unix time.",
    "…",  # another error, repeated
}


def explained() -> list[str]:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    told = "\n".join(each for each in sections if not each.startswith(SYMPTOMS))
    return re.findall(r"^\| `([^`]+)` \|", told, re.MULTILINE)


def logged() -> set[str]:
    """Return all texts of the package, without the arguments of log lines."""
    texts = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                texts.add(re.sub(r"%\(\w+\)[\d.]*[sdf]|\{\w+\}", "…", skeleton(node)).replace("`", ""))
    return texts


def test_every_explained_message_exists() -> None:
    known = {*messages(), *logged()}
    assert [each for each in explained() if each not in known] == []


def test_no_message_is_explained_twice() -> None:
    assert len(explained()) == len(set(explained()))


def test_every_error_is_explained() -> None:
    told = {*explained(), *NOBODYS}
    assert {message: where for message, where in messages().items() if message not in told} == {}
