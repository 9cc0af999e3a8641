"""Dynamic sizes: bucket lists, recorded sizes, and kernels specialised for one bucket."""
