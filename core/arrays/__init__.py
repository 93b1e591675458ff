"""What arrays do beyond arithmetic: indexing, printing, promotion, transfer, interchange."""
