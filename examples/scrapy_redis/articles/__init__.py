"""A crawl that workers share: scrapy-redis deals out the requests, dedupcrawl keeps each article once."""
