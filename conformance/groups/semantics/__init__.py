"""Views, promotion, broadcasting, indexing, limits of dtypes, types of errors."""
