"""A crawl that any number of workers share: scrapy-redis deals out the requests, dedupcrawl keeps each article once."""
