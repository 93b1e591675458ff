"""What people type wrong, subject by subject, and the whole message that answers."""
