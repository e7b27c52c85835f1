"""Runs job-retry on one machine: the engine, the gateway and the schedules."""
