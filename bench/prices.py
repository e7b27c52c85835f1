"""List prices, US East, on demand, in dollars; as published in 2026. Free tiers left out."""

WRITE_UNIT = 0.625 / 1_000_000
READ_UNIT = 0.125 / 1_000_000
HTTP_API_REQUEST = 1.00 / 1_000_000
LAMBDA_REQUEST = 0.20 / 1_000_000
LAMBDA_GB_SECOND = 0.0000166667
SQS_REQUEST = 0.40 / 1_000_000
STEP_FUNCTIONS_TRANSITION = 25.0 / 1_000_000

# What a call is taken to run for, warm, in a function of the template's default size: four
# times what the handlers take on this project's development machine, of which Lambda gives
# a function of 512 MB about a third of a core.
CALL_SECONDS = 0.025
CALL_GB = 0.5


def invocation() -> float:
    """Return the price of one call of a function, by itself."""
    return LAMBDA_REQUEST + CALL_SECONDS * CALL_GB * LAMBDA_GB_SECOND


def call() -> float:
    """Return the price of one call through the API: its request and its function."""
    return HTTP_API_REQUEST + invocation()
