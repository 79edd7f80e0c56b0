"""The domains are those of tldextract, which is not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tldextract import TLDExtract

from dedupcrawl.utils import public_suffixes as module
from dedupcrawl.utils.public_suffixes import registrable_domain

REFERENCE = TLDExtract(suffix_list_urls=(), include_psl_private_domains=True, cache_dir=None)
LABELS = ["a", "www", "com", "ck", "!www", "*", "", "é", "xn--p1ai", "xn--x", "[a]", "127", "0", " ", "GitHub", "io"]
rules = sorted(module._load().rules)
hosts = st.builds(
    lambda labels, dot, rule, end: dot.join([*labels, rule]) + end,
    st.lists(st.sampled_from(LABELS), max_size=4),
    st.sampled_from([".", "\u3002"]),
    st.sampled_from(rules) | st.sampled_from(LABELS) | st.sampled_from(rules).map(str.upper),
    st.sampled_from(["", ".", "\uff61"]),
)


def expected(host: str) -> str:
    found = REFERENCE.extract_str(host)
    return f"{found.domain}.{found.suffix}" if found.domain and found.suffix else ""


def test_every_rule() -> None:
    for rule in rules:
        for host in (rule, f"a.{rule}", f"b.a.{rule}", f"a.{rule.lstrip('*.!')}", f"b.a.{rule.lstrip('*.!')}"):
            assert registrable_domain(host) == expected(host)


@given(hosts | st.text(st.sampled_from("abc.-[]* \u3002é")))
@example("[::1]")
@example("[1.2.3]com.a.uk")
@example("127.0.0.1")
@example("A.XN--P1AI")
@example("xn--a.xn--99999999999")
def test_any_host(host: str) -> None:
    name = host.partition(":")[0]
    assert registrable_domain(name) == expected(name)


@pytest.mark.parametrize("module", ["dedupcrawl.siblings", "dedupcrawl.cli", "dedupcrawl.batch.runner"])
def test_requests_is_not_imported(module: str) -> None:
    check = "from dedupcrawl.siblings import site_of; assert site_of('http://a.b.co.uk/') == 'b.co.uk'"
    loaded = "import sys; sys.exit(', '.join({'requests', 'tldextract', 'urllib3'} & {*sys.modules}) or None)"
    command = [sys.executable, "-c", f"import {module}; {check}; {loaded}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
