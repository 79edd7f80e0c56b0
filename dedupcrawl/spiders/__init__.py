"""The spiders of this repository, itself a Scrapy project."""
