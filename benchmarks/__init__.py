"""The user programs frit exists for, the demo that shows them, and the benchmark that compares them."""
