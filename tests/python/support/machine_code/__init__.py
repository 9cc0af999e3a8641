"""The machine code of GPU kernels: the required figures (bars), and the code of each kind of kernel (assembled)."""
