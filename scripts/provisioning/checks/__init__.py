"""What may be wrong with a kit before anybody starts it, one matter a module."""
