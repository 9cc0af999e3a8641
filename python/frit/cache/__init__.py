"""The cache of compiled graphs: keys, the disk cache, and graphs inside torch's own files."""
