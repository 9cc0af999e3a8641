"""Functions that change a weight between two calls, with and without a change of its version counter. The modules have `first` and `second`."""

import copy

import torch
from torch import nn


def adam(module, other, x):
    optimizer = torch.optim.Adam(module.parameters())
    module(x).sum().backward()
    optimizer.step()


def average(module, other, x):
    for mine, its in zip(module.parameters(), other.parameters()):
        mine.data.mul_(0.9).add_(its.data, alpha=0.1)  # does not change the version counter


def replace(module, other, x):
    module.first.weight = nn.Parameter(other.first.weight.detach().clone())


def exchange(module, other, x):
    module.first.weight.data = other.first.weight.data.clone()


def through_numpy(module, other, x):
    module.second.weight.detach().numpy()[:] = 3


def load(module, other, x):
    module.load_state_dict(other.state_dict())


def assign(module, other, x):
    module.load_state_dict(copy.deepcopy(other).state_dict(), assign=True)


def copy_into(module, other, x):
    module.second.weight.detach().copy_(other.second.weight)


WRITES = [adam, average, replace, exchange, through_numpy, load, assign, copy_into]
