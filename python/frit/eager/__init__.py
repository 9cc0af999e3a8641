"""How eager's operators behave: decompositions, and corrections of strides and dtypes that torch's tracing gets wrong."""
