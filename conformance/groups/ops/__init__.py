"""Every op, dtype and layout of the op table against an independent reference."""
