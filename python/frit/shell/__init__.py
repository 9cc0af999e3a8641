"""The commands of `frit` that look at artifacts: report, inspect and bench."""
