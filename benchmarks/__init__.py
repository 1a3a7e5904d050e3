"""Measurements of the program, of what a preview costs and of how the weights are copied."""
