"""``python -m job_retry_client``: the command line."""

from job_retry_client.cli import main

if __name__ == "__main__":
    main()
