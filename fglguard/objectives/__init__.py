"""What sharing strategies add to a site's local training, one term a file."""
