"""The commands of `frit` that read artifacts: report, inspect and bench."""
