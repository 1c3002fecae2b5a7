"""Second opinions on everything that edgeopt computes for requests each second and jobs beside.

Written from the mathematics in plain Python: Fractions where the numbers are rational, one loop per
sum, every assignment and every order tried, programs row by row, no shared code with the package.
Slow, and meant for tiny instances.
"""
