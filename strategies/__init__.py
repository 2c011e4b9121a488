"""How updates become the next global model."""
