"""Reports: the data, and how it looks in a terminal."""
