"""One benchmark a module: a function that returns figures under flat keys."""
