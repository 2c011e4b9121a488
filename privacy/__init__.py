"""What hides a client's update."""
