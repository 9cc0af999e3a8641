"""Repeats failures: runs the program of a repro.py, and reduces it (`frit bisect`)."""
