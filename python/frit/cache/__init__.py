"""Compiled graphs that are kept: keys, the disk cache, and graphs inside files of torch's own."""
