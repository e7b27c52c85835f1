"""The ways to reach the queue, behind one interface."""
