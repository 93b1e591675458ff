"""Drivers: one file each. They reach the core through entry points, as a stranger's plugin does."""
