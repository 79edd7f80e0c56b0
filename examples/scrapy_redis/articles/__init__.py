"""A crawl by several workers: scrapy-redis distributes the requests, dedupcrawl keeps each article once."""
