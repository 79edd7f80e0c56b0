"""Stores of fingerprints, opened by their URL."""

from dedupcrawl.stores.opening import list_namespaces, open_existing, open_store

__all__ = ["list_namespaces", "open_existing", "open_store"]
