"""Memory, allocators, streams and the locks that a fork leaves free."""
