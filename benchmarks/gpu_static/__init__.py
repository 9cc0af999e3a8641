"""The GPU kernels of frit beside those of Inductor, by their machine code alone; nothing runs on a device."""
