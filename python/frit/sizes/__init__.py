"""Sizes that vary: bucket lists, counts of real sizes, and kernels specialised for one bucket."""
