"""A device without hardware: see driver.py."""
