"""dedupcrawl keeps every article of a crawl once."""

from dedupcrawl.claim import Claim, Pending
from dedupcrawl.config import Config
from dedupcrawl.crawl.addon import Addon
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.page import Page, read_page
from dedupcrawl.verdict import Status, Verdict

__all__ = ["Addon", "Claim", "Config", "Deduplicator", "Page", "Pending", "Status", "Verdict", "read_page"]
