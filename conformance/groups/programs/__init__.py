"""Random programs over several streams against a simple model."""
