"""A page shown with what its reader made of every block."""
