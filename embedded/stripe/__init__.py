"""A Stripe that needs no account: localstripe, and in front of it what it lacks."""
