"""What all benchmarks share: rounds, the machine, tables, pictures, and what is to be reached."""
