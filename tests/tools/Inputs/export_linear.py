"""Writes a small exported program: python export_linear.py OUT.pt2"""
import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(8, 4)
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale


batch = torch.export.Dim("batch", min=2, max=64)
program = torch.export.export(Model().eval(), (torch.rand(3, 8),), dynamic_shapes=({0: batch},))
torch.export.save(program, sys.argv[1])
