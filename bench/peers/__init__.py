"""Rows of the benchmark in other libraries: one file a library, a function a subject.

A function takes the inputs of a row (NumPy arrays; bench/problem.py) and returns what does the work once, and what
returns the output.
"""

import fnmatch

# Patterns of rows' names, the first that fits counts -> the function's name in each library that has the subject.
SUBJECTS = {
    "saxpy_*": "saxpy",
    "normalise_*": "normalise",
    "copy_*": "copy",
    "fields_19_*": "fields",
    "transpose_*": "transpose",
    "matrices_*": "products",
    "transcendental_*": "transcendental",
    "divergent_*": "divergent",
    "nbody_8192_fast": "fast_bodies",
    "nbody_8192": "bodies",
    "one_address_*": "one_address",
    "scan_*": "scan",
    "sort_*": "sort",
    "scatter_*": "scatter",
    "stencil_*": "stencil",
    "mpm_64k": "mpm",
    "mpm_1m": "mpm",
    "cloth_128x16": "cloth",
    "d2q9_*": "d2q9",
    "d3q19_*": "d3q19",
    "sph_*": "sph",
}


def maker(library, row):
    """The library's function for a row, or None."""
    subject = next((name for pattern, name in SUBJECTS.items() if fnmatch.fnmatch(row, pattern)), None)
    return getattr(library, subject, None) if subject is not None else None
