"""Writes a functional graph as the JSON of torch.export's schema, and runs in Python the parts that the schema cannot express."""
