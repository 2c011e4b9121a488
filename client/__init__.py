"""The Flower ClientApp: a site's local training and scoring."""
