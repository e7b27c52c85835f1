"""job-retry: a durable job queue with backoff and dead letters, on DynamoDB and Lambda."""

import gc
import os

if "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ:
    # A cold start makes a hundred thousand objects that stay, and no garbage worth looking
    # for; `runtime.warm_up` turns the collector on again.
    gc.disable()
