"""The function's environment, read once and checked."""

from collections.abc import Mapping
from typing import NamedTuple


class SettingsError(Exception):
    """The environment does not say what the function needs; its deployment is at fault."""


class Settings(NamedTuple):
    """What the template tells a function.

    Attributes:
        jobs_table: name of the table of jobs.
        control_table: name of the table of queues.
        endpoint_url: of another DynamoDB than the region's; None in earnest.
        require_lease_token: refuse to settle a job without its lease token.
    """

    jobs_table: str
    control_table: str
    endpoint_url: str | None
    require_lease_token: bool

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings.

        Raises:
            SettingsError: a variable is missing, or a switch is neither true nor false.
        """
        return cls(
            jobs_table=_required(environment, "JOBS_TABLE"),
            control_table=_required(environment, "CONTROL_TABLE"),
            endpoint_url=environment.get("DYNAMODB_ENDPOINT_URL") or None,
            require_lease_token=_switch(environment, "REQUIRE_LEASE_TOKEN"),
        )


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        message = f"{name} is not set"
        raise SettingsError(message)
    return value


def _switch(environment: Mapping[str, str], name: str) -> bool:
    value = environment.get(name, "false")
    if value not in ("true", "false"):
        message = f"{name} must be true or false"
        raise SettingsError(message)
    return value == "true"
