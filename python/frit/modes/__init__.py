"""The modes other than "default": CUDA graphs and autotuning."""
