"""Rows of the benchmark in other libraries: one file a library, a function a subject.

A function takes the inputs of a row (NumPy arrays; bench/problem.py) and returns what does the work once, and what
returns the output. `ROWS` has them by patterns of rows' names.
"""
