"""The array API tests of other libraries, run with Phalanx; see docs/compatibility.md."""
