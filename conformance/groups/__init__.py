"""The cases of the suite, a folder for each group."""
