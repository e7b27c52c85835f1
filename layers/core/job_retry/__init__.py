"""job-retry: a durable job queue with backoff and dead letters, on DynamoDB and Lambda."""
