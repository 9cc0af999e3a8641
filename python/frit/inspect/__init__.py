"""Reads artifacts without running them: the plan's steps, sizes, bytes moved and memory."""
