"""Each kernel holds the class that it declares."""
