"""The environment, read."""

import pytest

from job_retry.settings import Settings, SettingsError

NEEDED = {"JOBS_TABLE": "Jobs", "CONTROL_TABLE": "Control"}


def test_what_the_template_sets() -> None:
    assert Settings.from_environment(NEEDED) == Settings(
        jobs_table="Jobs", control_table="Control", endpoint_url=None, require_lease_token=False
    )


def test_all_of_it() -> None:
    more = {"DYNAMODB_ENDPOINT_URL": "http://127.0.0.1:8000", "REQUIRE_LEASE_TOKEN": "true"}
    assert Settings.from_environment(NEEDED | more) == Settings(
        jobs_table="Jobs",
        control_table="Control",
        endpoint_url="http://127.0.0.1:8000",
        require_lease_token=True,
    )


@pytest.mark.parametrize("missing", NEEDED)
@pytest.mark.parametrize("left", [{}, {"JOBS_TABLE": "", "CONTROL_TABLE": ""}])
def test_a_missing_table_is_named(missing: str, left: dict[str, str]) -> None:
    rest = {name: value for name, value in NEEDED.items() if name != missing}
    given = rest | {name: value for name, value in left.items() if name == missing}
    with pytest.raises(SettingsError, match=f"{missing} is not set"):
        Settings.from_environment(given)


def test_an_empty_endpoint_is_none() -> None:
    assert Settings.from_environment(NEEDED | {"DYNAMODB_ENDPOINT_URL": ""}).endpoint_url is None


@pytest.mark.parametrize("value", ["", "True", "TRUE", "1", "yes", "on", " true"])
def test_a_switch_that_is_neither_on_nor_off_is_refused(value: str) -> None:
    # taken as false, a misspelt switch would leave the queue less strict than was asked
    with pytest.raises(SettingsError, match="REQUIRE_LEASE_TOKEN must be true or false"):
        Settings.from_environment(NEEDED | {"REQUIRE_LEASE_TOKEN": value})


def test_false_may_be_said() -> None:
    settings = Settings.from_environment(NEEDED | {"REQUIRE_LEASE_TOKEN": "false"})
    assert not settings.require_lease_token
