"""The machine code of GPU kernels: its figures (sass), the required figures (bars), and the code of each kind of kernel (assembled)."""
