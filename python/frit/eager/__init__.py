"""Eager's behaviour of operators: decompositions, and corrections of strides and dtypes that torch's tracing gets wrong."""
