"""The one error that reading a page can end with."""

from __future__ import annotations

from dedupcrawl.errors import DedupError


class PageError(DedupError):
    """What was given is no page that can be read.

    ``reason`` is one short word for a verdict's ``unchecked`` reason: :data:`BINARY`, :data:`TOO_LARGE` or
    :data:`TOO_DEEP`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ReaderError(DedupError):
    """A reader of the user's own failed on a page, or returned what is no main text.

    What it raised is the cause.
    """

    @property
    def kind(self) -> str:
        """The name of what was raised: who logs a failure of each kind once tells them apart by it."""
        return type(self.__cause__ or self).__name__


BINARY = "binary"  #: an image, an archive, an office document… whatever its Content-Type says
TOO_LARGE = "too-large"  #: more bytes than ``ReadOptions.max_bytes``
TOO_DEEP = "too-deep"  #: tags nested so deep that the parser has left out the rest of the page
