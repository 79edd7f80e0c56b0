"""The rim around Scrapy: add-on, middlewares, pipeline, settings."""
