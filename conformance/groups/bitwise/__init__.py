"""The same bits as `cpu:0`."""
