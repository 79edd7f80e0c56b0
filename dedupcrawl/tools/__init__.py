"""Tools that show, explain and measure what a run did; no crawl or batch needs them."""
