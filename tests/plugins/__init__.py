"""Crawls with other packages for Scrapy, each with a server on loopback. docs/plugins.md names these tests."""
