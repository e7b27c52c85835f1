"""The contention bench: many workers claim from one queue."""
