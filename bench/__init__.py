"""Benches: what a job costs, how claims fare under contention, how fast a function starts."""
