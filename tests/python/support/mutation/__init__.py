"""The programs that find planted mistakes (mutants.py), beside torch's operator database."""
