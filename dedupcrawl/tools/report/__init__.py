"""What happened, written down as it happens and shown as a page."""
