"""The Scrapy components: add-on, middlewares, pipeline, settings."""
