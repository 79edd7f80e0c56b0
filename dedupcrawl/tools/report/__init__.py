"""Reports: what a crawl, a batch or a store kept and dropped, as one HTML page."""
