"""What comes from outside, checked by pydantic: one module for each kind of request.

A function imports only its own, since every model costs its cold start.
"""
