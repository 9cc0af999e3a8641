"""Failures that are run again: the program of a repro.py, and `frit bisect`, which cuts it down."""
