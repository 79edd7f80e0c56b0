"""Why a page got its verdict, and which setting would have given it another."""
