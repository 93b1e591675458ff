"""Tests of `phalanx.device_code`: its texts, what compiles them, and what runs them."""
