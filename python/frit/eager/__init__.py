"""Eager's word on operators: decompositions, and the strides and dtypes that traced graphs get wrong."""
