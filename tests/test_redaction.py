"""A secret anywhere in the URL of a store is in no message, log record, representation or chain of errors."""

from __future__ import annotations

import logging
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import ResponseError
from scrapy.settings import Settings
from typer.testing import CliRunner

from dedupcrawl.batch.job import Job
from dedupcrawl.cli import app
from dedupcrawl.crawl.recorder import settings_text
from dedupcrawl.crawl.settings import Options
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.redis.address import PARAMETERS, read_address, url_from_settings
from dedupcrawl.stores.redis.connection import store_error
from dedupcrawl.utils.redaction import SHOWN_VALUES, hide_password, hide_password_in, remove_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "hunTer"
SCHEMES = ["redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "redis-cluster", "Redis", "reds", "http"]
#: Characters around the secret: those that have a meaning in a URL, and some that have none.
ODD = st.text(":/?#[]@!$&'()*+,;=%. \t\n\\\"é新\0\ud800a1", max_size=4)
NAMES = st.sampled_from([*PARAMETERS, "Password", "PASSWORD", "pass", "passwd", "p%61ssword", "auth", "token", ""])


@st.composite
def secrets(draw: st.DrawFn) -> str:
    """Return a password with odd characters, sometimes percent-encoded."""
    text = draw(ODD) + SECRET + draw(ODD)
    return draw(st.sampled_from([text, quote(text, safe="", errors="replace"), quote(text, errors="replace")]))


@st.composite
def urls(draw: st.DrawFn) -> str:
    """Return the URL of a store that has a secret at any place but the name of a user, a host or a file."""
    secret = draw(secrets())
    host = draw(st.sampled_from(["h", "h:7000", "[::1]:7000", "h1:1,h2:2", "127.0.0.1"]))
    head = draw(st.sampled_from(SCHEMES)) + draw(st.sampled_from(["://", "://", "://", ":/", ":", ":///"]))
    name = draw(NAMES)
    return head + draw(
        st.sampled_from([
            f"me:{secret}@{host}/0",
            f":{secret}@{host}/0",
            f"me:{secret}@",
            f"{secret}:@{host}",
            f"me:x@{secret}@{host}",
            f":{secret.replace('@', '')}/0",  # what follows "@" is a host
            f"{host}/0?{name}={secret}",
            f"{host}/0?db=1&{name}={secret}&layout=hash",
            f"{host}/0?layout=hash;password={secret}",
            f"{host}/0&password={secret}",
            f"{host}/0?password={secret}#part",
            f"{host}/0#{secret}",
            f"{host}/0?password=x&{secret}",
            f"{host}/s/{secret}=",
            f"/run/s?password={secret}",
            f"/run/s?{secret}",
            f"/run/s&password={secret}",
        ])
    )  # fmt: skip


def said(error: BaseException) -> str:
    """Everything that is shown of an error, with the errors that led to it."""
    shown = "".join(traceback.format_exception(error))
    return "\n".join([str(error), repr(error), repr(error.args), shown, repr(vars(error))])


def outcome(action: Callable[[], object]) -> str:
    try:
        return repr(action())
    except DedupError as error:
        # Lines of the traceback show source code, and no values.
        return said(error)


@settings(max_examples=600)
@given(urls())
@example("unix://:/hunTer/0")
def test_no_message_shows_a_secret(url: str) -> None:
    shown = hide_password(url)
    assert SECRET not in shown
    assert hide_password(shown) == shown
    assert SECRET not in outcome(lambda: read_address(url))
    assert SECRET not in outcome(lambda: url_from_settings({"REDIS_URL": url}).count(":"))
    for ask in (
        lambda: open_existing(url, "news"),
        lambda: list_namespaces(url),
        lambda: open_store(url, namespace="news", scheme={}),
    ):
        with suppress(SettingError):
            read_address(url)
            continue  # it names a server: no test connects to it
        assert SECRET not in outcome(ask)


@settings(max_examples=200)
@given(urls())
def test_no_record_of_a_run_shows_a_secret(url: str) -> None:
    options = Options.from_settings(Settings({"DEDUP_STORE": url}), "news")
    assert SECRET not in repr(options)
    assert SECRET not in repr(settings_text(options))
    if "://" in url:
        job = Job(inputs=(), out=Path("out"), against=(url,), update=url)
        assert SECRET not in repr(job)
        assert SECRET not in repr(job.request())


@settings(max_examples=200)
@given(st.sampled_from(["redis://h/0", "redis+sentinel://h/s/0"]), st.text("aZ1:/?@é %", min_size=4, max_size=12))
def test_what_a_server_repeats_of_a_password_is_removed(url: str, password: str) -> None:
    """A server without ``AUTH`` answers with the arguments of the unknown command."""
    address = read_address(f"{url}?password={quote(password, safe='')}")
    cause = NoConnection(f"sent {password}")
    error = ResponseError(f"unknown command 'AUTH', with args beginning with: '{password}'")
    error.__cause__ = cause
    found = store_error(address.shown, error, address.secrets)
    beginning = "unknown command 'AUTH', with args beginning with: '***'"
    assert str(error) == beginning
    assert (str(found).partition(": ")[2], str(cause)) == (f"{beginning}.", "sent ***")


def test_a_chain_of_errors_that_ends_where_it_began_is_followed_once() -> None:
    one, two = ValueError("hunter2"), OSError(5, "hunter2")
    one.__cause__, two.__context__ = two, one
    remove_secrets(one, ["hunter2"])
    assert (one.args, two.args) == (("***",), (5, "***"))


@pytest.mark.parametrize("value", [b"redis://:hunTer@h", ["redis://:hunTer@h"], {"url": "redis://:hunTer@h"}])
def test_a_setting_of_another_type_is_refused_without_showing_it(value: object) -> None:
    with pytest.raises(SettingError, match=r"DEDUP_STORE = .* is not accepted: a text") as caught:
        Options.from_settings(Settings({"DEDUP_STORE": value}), "news")
    assert SECRET not in said(caught.value)


def test_other_values_are_shown_as_they_are() -> None:
    assert [hide_password_in(value) for value in (None, 6379, True, "lmdb:///a:b@c", Path("a/b@c"))] == [
        None, 6379, True, "lmdb:///a:b@c", "a/b@c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h/0?Password=x", "redis://h/0?***=***"),
        ("redis://h/0?socket_timeout=2.5&ssl_cert_reqs=none", "redis://h/0?socket_timeout=2.5&ssl_cert_reqs=none"),
        ("redis://h/0?p%61ssword=x", "redis://h/0?password=***"),
        ("redis://h/0?password=a@b", "redis://***"),
        ("redis://hunter2:@h", "redis://***@h"),
        ("redis://hun:ter:2@h", "redis://***@h"),
        ("redis://me:hunter2/0", "redis://***/0"),
        ("redis://h/0&password=x", "redis://h/***"),
        ("redis+cluster://me:x@h1:1,[::1]:2", "redis+cluster://me:***@h1:1,[::1]:2"),
        ("redis+sentinel://a,b:1/news-db/0", "redis+sentinel://a,b:1/news-db/0"),
        ("unix:///run/a@b.sock?password=x@y&db=1", "unix:///run/a@b.sock?password=***&db=1"),
        ("redis:/me:hunter2@h", "redis:***"),
        ("me:hunter2@h/0", "me:***"),
        ("/data/a@b", "/data/a@b"),
        ("lmdb:///data/a:b@c?password", "lmdb:///data/a:b@c?password"),
        ("scrapy_redis", "scrapy_redis"),
    ],
)
def test_what_is_shown(url: str, shown: str) -> None:
    assert hide_password(url) == shown


def test_a_mistyped_parameter_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(SettingError, match="password was probably meant"):
        read_address("redis://h/0?Passwrd=hunTer")
    with pytest.raises(SettingError) as caught:
        read_address(f"redis://h/0?password=a&{SECRET}")
    assert SECRET not in said(caught.value)


def test_every_parameter_is_known_to_redaction() -> None:
    assert SHOWN_VALUES.keys() == PARAMETERS.keys()


@pytest.mark.parametrize(
    "words",
    [
        ["store", "info", "redis://h", "redis://:hunTer@h"],
        ["store", "redis://:hunTer@h"],
        ["redis://:hunTer@h"],
        ["store", "forget", "redis:/a:hunTer@h", "x"],
        ["store", "info", "redis://h/0?Password=hunTer"],
        ["report", "redis:/a:hunTer@h"],
        ["report", "redis://a:hunTer@h", "redis://a:hunTer@h"],
        ["label", "redis://a:hunTer@h"],
        ["batch", "in.jsonl", "--out", "out", "--against", "redis://h/0?Password=hunTer"],
        ["batch", "in.jsonl", "--out", "out", "--against", "redis:/a:hunTer@h"],
        ["explain", "http://a", "--store", "redis://h/0?Password=hunTer"],
    ],
)
def test_no_command_shows_a_secret(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"url": "http://a", "text": "story"}\n')
    with caplog.at_level(logging.DEBUG):
        done = CliRunner().invoke(app, words)
    assert done.exit_code != 0
    shown = done.output + (said(done.exception) if done.exception else "")
    assert "***" in shown
    assert SECRET not in shown
    assert SECRET not in caplog.text
