"""A modelled DynamoDB in virtual time, for the real store to run against.

What it is true to: conditional writes are atomic and answer like the real ones; the index
lags; each partition carries so many units a second; the SDK repeats what was throttled.
What it leaves out is said where it is left out.
"""
