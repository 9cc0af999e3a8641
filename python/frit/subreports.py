"""Reads a compiler's report together with those of the graphs that its control flow calls (`subgraphs`)."""


def entries(report, what):
    """The entries of a list such as "kernels" or "aten_calls", with those of subgraphs, whose `graph` is the subgraph's name."""
    found = list(report.get(what, ()))
    for one in report.get("subgraphs", ()):
        found += [{"graph": one["name"], **entry} for entry in entries(one["report"], what)]
    return found
