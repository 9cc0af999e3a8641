"""Operators at edge cases of their rules (`edge_programs`). `scripts/mutants` measures which mistakes these programs find."""

import mutants
import pytest


@pytest.mark.parametrize("name, phase", [(name, phase) for phase, table in mutants.edge_tables().items() for name in table])
def test_edges(name, phase):
    said, _ = mutants.verdict(mutants.EDGES + name, phase)
    assert not said
