"""The machine code of GPU kernels: what it does (sass), what it has to reach (bars), and that of each kind of kernel (assembled)."""
