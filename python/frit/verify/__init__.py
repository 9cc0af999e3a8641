"""Compares compiled calls with ATen, locates the first difference, and writes a folder that reproduces a failure."""
