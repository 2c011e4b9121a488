"""What a guard has to beat."""
