"""What attacks get out of an export under each mask, beside what they get out of pure noise."""
