"""Plugins and devices: how they are found, named, chosen and explained."""
