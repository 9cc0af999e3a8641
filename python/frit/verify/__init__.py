"""Compiled calls compared with ATen's, where they begin to differ, and the folder that repeats a failure."""
