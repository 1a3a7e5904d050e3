"""Measurements of the program, to be read by people: a benchmark reports figures and gates nothing."""
