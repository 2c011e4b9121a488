"""One runnable example for each agent framework, with a trained guard and scripted models."""
