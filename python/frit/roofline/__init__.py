"""What kernels and calls compute and move, what the machine could do at best, how long they take, and a picture of it."""
