"""What is known of a site: its domain, and the verdicts on its pages."""
