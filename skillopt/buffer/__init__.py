"""The rejected buffer: why patches were refused, with numbers for people, without them for the optimizer."""
