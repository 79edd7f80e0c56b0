"""What a store keeps of a page so that the next crawl can ask for it conditionally: validators, links, proofs.

An entry is a note (:mod:`dedupcrawl.stores.notes`) under the site of the page and the key of its request: a hash of
the request's fingerprint, and of what the spider passes to its callback.
"""

from __future__ import annotations

import inspect
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from scrapy import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.request import request_from_dict

from dedupcrawl.crawl.page_view import META_KEY
from dedupcrawl.crawl.stored_requests import COOKIE, SECRET_HEADERS, decoded_headers, has_password, json_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy import Spider
    from scrapy.http import Response

VALIDATORS = "validators"  #: table of notes
PAGE_REQUEST = "dedup_page_request"  #: key of ``Request.meta``: the request comes from the spider
MAX_ENTRY_BYTES = 8192  #: of a packed entry; a page with more links is never asked for conditionally
MAX_TEXT_BYTES = 1 << 20  #: of an entry before it is packed
MAX_REQUESTS = 1000  #: requests of a page
MAX_PROOFS = 32  #: records of a page
MIN_AGE = 60.0  #: seconds from Last-Modified to Date that make a strong validator of it (RFC 9110, section 8.8.2.2)

#: Headers of requests that a project has made conditional or partial itself, or that authorise.
_OWN_HEADERS = (b"If-None-Match", b"If-Modified-Since", b"If-Match", b"If-Unmodified-Since", b"If-Range", b"Range")
_SET_AGAIN = frozenset((b"Referer", COOKIE))  # by Scrapy
#: Keys of ``Request.meta`` that are set anew for each request.
_PASSING_KEYS = frozenset((META_KEY, "depth", "is_start_request", PAGE_REQUEST, "cached_response"))
#: Further keys that Scrapy or this package writes: they say nothing about the purpose of a request.
_SCRAPY_KEYS = _PASSING_KEYS | {"retry_times", "proxy", "bindaddress", "cookiejar"}
_SCRAPY_PREFIXES = ("download_", "dedup_", "redirect_", "dont_", "handle_", "_")


@dataclass(frozen=True, slots=True)
class ValidatorEntry:
    """The last complete visit of a page."""

    etag: str  #: value of the header ETag; "" without one
    modified: str  #: value of Last-Modified, if it is a strong validator, else ""
    body: str  #: hash of the body, in hexadecimal digits
    size: int  #: of the body, bytes
    items: int  #: that the spider made of it
    requests: tuple[Mapping[str, Any], ...]  #: that the spider made of it, as :func:`storable_fields` returns them
    proofs: tuple[int, ...]  #: ids of the records that must still be committed
    code: str  #: hash of the spider's module: another spider has to read the page again
    at: float  #: Unix time of the last answer
    turn: int = 0  #: answers until the page is asked for unconditionally
    compared: int = 0  #: downloads that were compared with the one before, and were no lie

    def pack(self) -> bytes | None:
        """Return the note; None if it would be too large."""
        text = orjson.dumps(asdict(self))
        packed = zlib.compress(text, 6) if len(text) <= MAX_TEXT_BYTES else b""
        return packed if 0 < len(packed) <= MAX_ENTRY_BYTES else None

    @classmethod
    def unpack(cls, value: bytes) -> ValidatorEntry | None:
        """Read a note; None if it is damaged."""
        with suppress(ValueError, LookupError, TypeError, AttributeError, zlib.error):
            note = orjson.loads(zlib.decompressobj().decompress(value, MAX_TEXT_BYTES))
            entry = cls(
                etag=str(note["etag"]),
                modified=str(note["modified"]),
                body=str(note["body"]),
                size=int(note["size"]),
                items=int(note["items"]),
                requests=tuple(dict(each) for each in note["requests"]),
                proofs=tuple(int(each) for each in note["proofs"]),
                code=str(note["code"]),
                at=float(note["at"]),
                turn=int(note["turn"]),
                compared=int(note.get("compared", 0)),
            )
            return entry if entry.headers else None
        return None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a conditional request; with an ETag, that alone decides."""
        if self.etag:
            return {"If-None-Match": self.etag}
        return {"If-Modified-Since": self.modified} if self.modified else {}

    def restored(self, spider: Spider) -> list[Request]:
        """Return the requests of the page; raises ``ValueError`` if the spider has no such callback."""
        return [restored_request(fields, spider) for fields in self.requests]


def validators_of(response: Response) -> tuple[str, str]:
    """Return ETag and Last-Modified of a response; "" for one that is missing or cannot be used."""
    etag, modified, date = (_header(response, name) for name in ("ETag", "Last-Modified", "Date"))
    return etag if etag.isprintable() else "", _strong_date(modified, date)


def _header(response: Response, name: str) -> str:
    value = response.headers.get(name)
    return value.decode("latin-1").strip() if value is not None else ""


def _strong_date(modified: str, date: str) -> str:
    """Return Last-Modified if the page was not changed again in the same second: it is a minute older than Date."""
    with suppress(ValueError, TypeError, IndexError):
        age = (parsedate_to_datetime(date) - parsedate_to_datetime(modified)).total_seconds()
        return modified if age >= MIN_AGE else ""
    return ""


def body_hash(response: Response) -> str:
    """Return the hash of a body."""
    return blake2b(response.body, digest_size=8).hexdigest()


def code_of(spider: Spider) -> str:
    """Return a hash of the modules of a spider's classes, without those of Scrapy."""
    hasher = blake2b(digest_size=8)
    for kind in type(spider).__mro__:
        if kind is not object and not kind.__module__.startswith("scrapy."):
            hasher.update(kind.__qualname__.encode())
            with suppress(OSError, TypeError):  # a class without a file
                hasher.update(Path(inspect.getfile(kind)).read_bytes())
    return hasher.hexdigest()


def may_be_conditional(request: Request) -> bool:
    """Whether a request is one of a spider's for a page, and neither conditional, partial nor authorised.

    Requests that do not come from a callback or ``start()`` of the spider have no mark: whoever has called
    ``engine.download_async()`` must not get an empty response.
    """
    is_marked = bool(request.meta.get(PAGE_REQUEST))
    is_plain = is_marked and request.method == "GET" and not request.body and request.callback is not NO_CALLBACK
    has_own = any(name in request.headers for name in (*_OWN_HEADERS, *SECRET_HEADERS))
    return is_plain and not has_own and request.url.startswith(("http:", "https:"))


def request_key(fingerprint: bytes, request: Request) -> bytes:
    """Return the key of a request: another callback or other arguments of it make other items of the page."""
    callback = getattr(request.callback, "__name__", "") or "parse"
    meta = {str(key): value for key, value in request.meta.items() if not _is_scrapys(key)}
    purpose = orjson.dumps([callback, request.cb_kwargs, meta], default=repr, option=orjson.OPT_SORT_KEYS)
    return blake2b(fingerprint + purpose, digest_size=16).digest()


def _is_scrapys(key: object) -> bool:
    return isinstance(key, str) and (key in _SCRAPY_KEYS or key.startswith(_SCRAPY_PREFIXES))


def storable_fields(request: Request, spider: Spider, *, is_sent: bool = False) -> dict[str, Any] | None:
    """Return a request as JSON values; None if they would not be the same request, or hold a secret.

    Args:
        request: the request.
        spider: has its callbacks.
        is_sent: whether Scrapy's ``CookiesMiddleware`` has set its cookies; these are left out, and set again.
    """
    secrets = SECRET_HEADERS if is_sent else (*SECRET_HEADERS, COOKIE)
    has_secret = bool(request.cookies) or any(name in request.headers for name in secrets)
    has_secret |= has_password(request.url) or has_password(str(request.meta.get("proxy", "")))
    if type(request) is not Request or request.body or has_secret:
        return None
    with suppress(TypeError, ValueError):  # its callback is no method of the spider
        fields = request.to_dict(spider=spider)
        fields |= {"headers": decoded_headers(request, _SET_AGAIN), "meta": dict(_kept_meta(request))}
        return json_fields({name: value for name, value in fields.items() if value})
    return None


def _kept_meta(request: Request) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in request.meta.items() if key not in _PASSING_KEYS)


def restored_request(fields: Mapping[str, Any], spider: Spider, **changes: Any) -> Request:
    """Return a request that was stored; raises ``ValueError`` if it is none, or the spider has no such callback."""
    known = {name: value for name, value in fields.items() if name in Request.attributes}  # never another class
    try:
        return request_from_dict({**known, **changes}, spider=spider)
    except (TypeError, AttributeError, LookupError) as error:
        raise ValueError(str(error)) from error
