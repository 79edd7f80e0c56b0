"""A namespace that is sharded over all nodes of a cluster: 1,024 hash tags, and a protocol of claims between them."""
