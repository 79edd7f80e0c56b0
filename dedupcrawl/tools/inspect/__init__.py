"""An HTML view of a page that shows how its reader decided on each block."""
