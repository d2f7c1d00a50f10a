"""A bookshop on Temporal that was there before Rescind; it runs outside of this repository."""
