"""Capture: a functional graph as the JSON of torch.export's schema, and what of a graph stays in Python."""
