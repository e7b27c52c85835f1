"""Workers: programs that claim jobs and work on them."""
