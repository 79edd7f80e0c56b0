from __future__ import annotations

import gzip
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse

from dedupcrawl.crawl.pipeline import EncodingMiddleware

URL = "http://a.example/x"
TEXT = "Pendant la nuit, la rivière est montée ; à l’aube, tout le village était là."


def corrected(response: Response) -> Any:
    return EncodingMiddleware().process_response(Request(URL), response)


@pytest.mark.parametrize("label", ["idna", "hex", "punycode", "undefined", "cp037", "unicode_escape"])
@pytest.mark.parametrize("kind", [HtmlResponse, TextResponse])
@pytest.mark.parametrize("where", ["header", "markup"])
def test_text_of_a_response_whose_label_is_no_encoding(label: str, kind: type[TextResponse], where: str) -> None:
    page = TEXT if where == "header" else f"<meta charset={label}>{TEXT}"
    header = f"text/html; charset={label}" if where == "header" else "text/html"
    response = kind(URL, status=203, headers={"Content-Type": header}, body=page.encode(), flags=["cached"])
    found = corrected(response)
    assert isinstance(found, kind)
    assert (found.text, found.body, found.status, found.flags) == (page, page.encode(), 203, ["cached"])


def test_encoding_of_a_page_that_is_not_utf8_is_guessed_or_taken_from_the_markup() -> None:
    russian = "Ночью река поднялась, и утром вся деревня стояла на берегу и смотрела на воду. " * 4
    header = {"Content-Type": "text/html; charset=hex"}
    assert russian in corrected(HtmlResponse(URL, headers=header, body=russian.encode("cp1251"))).text
    marked = f"<meta charset=koi8-r>{russian}".encode("koi8-r")
    assert russian in corrected(HtmlResponse(URL, headers=header, body=marked)).text


@pytest.mark.parametrize(
    "response",
    [
        HtmlResponse(URL, headers={"Content-Type": "text/html; charset=gb2312"}, body=b"x"),
        HtmlResponse(URL, headers={"Content-Type": "text/html; charset=no-such-thing"}, body=b"x"),
        HtmlResponse(URL, headers={"Content-Type": "text/html; charset=idna"}, body=b"\xff\xfex\0"),
        HtmlResponse(URL, body=TEXT.encode()),
        Response(URL, headers={"Content-Type": "image/png; charset=idna"}, body=gzip.compress(b"x")),
    ],
)
def test_other_responses_are_left_as_they_are(response: Response) -> None:
    assert corrected(response) is response
