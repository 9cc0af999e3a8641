"""Operators as eager runs them: decompositions, and the strides and dtypes that torch's tracing gets wrong."""
