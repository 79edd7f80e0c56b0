"""The middleware that corrects the encoding of responses whose label names no encoding of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import TextResponse

from dedupcrawl.page.document import replacement_encoding

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class EncodingMiddleware:
    """Replaces labels such as ``charset=idna`` or ``charset=hex``, codecs of Python that are no encodings of pages.

    ``response.text`` raises an exception for them. Scrapy's ``MetaRefreshMiddleware`` reads it, so the page would be
    lost before a spider sees it. This middleware runs just before that one, after decompression.
    """

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        """Return the response, or the same with a usable encoding."""
        if not isinstance(response, TextResponse):
            return response
        header = (response.headers.get("Content-Type") or b"").decode("latin-1")
        encoding = replacement_encoding(response.body, header)
        return response.replace(encoding=encoding) if encoding else response
