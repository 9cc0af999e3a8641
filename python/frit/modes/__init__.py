"""The modes beyond "default": CUDA graphs, and schedules that are measured."""
