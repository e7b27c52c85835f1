"""ministack: what AWS does with our templates, on this machine and without containers.

Functions run in subprocesses of this interpreter, so their layers hold our own code only; the
packages of others are the interpreter's.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from typing import TYPE_CHECKING, Any, Self

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.ports import free_port
from local.template import load_template
from tests.template.stack import translate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

PATIENCE_SECONDS = 60
BUCKET = "bucket"  # as `translate` has it
# It would listen on fixed ports for these.
QUIET = {"IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0"}


class Ministack:
    """One ministack process, ended with the block that it is for."""

    def __init__(self, folder: Path) -> None:
        """Serve on a free port; keep temporary files and the log in this folder."""
        self._port = free_port()
        self._folder = folder
        self.url = f"http://127.0.0.1:{self._port}"
        self.log = folder / "ministack.log"

    def __enter__(self) -> Self:
        settings = {"GATEWAY_PORT": str(self._port), "BIND_HOST": "127.0.0.1", **QUIET}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ministack"],
                cwd=self._folder,
                env={**os.environ, **settings, "TMPDIR": str(self._folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self._answers)
            self.client("s3").create_bucket(Bucket=BUCKET)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def client(self, service: str) -> Any:
        """Return a client of one of its services."""
        return boto3.client(service, endpoint_url=self.url)  # type: ignore[call-overload]

    def deploy(self, stack: str, template: Path, **parameters: str) -> dict[str, str]:
        """Deploy a SAM template with the code that it names; return the outputs."""
        loaded = load_template(template)
        for name, resource in loaded["Resources"].items():
            properties = resource.get("Properties", {})
            if "CodeUri" in properties:
                self._put(name, zipped(template.parent / properties["CodeUri"]))
            if "ContentUri" in properties:
                self._put(name, zipped(template.parent / properties["ContentUri"], "python/"))
        self._put(stack, json.dumps(adapted(translate(loaded, **parameters))).encode())
        formation = self.client("cloudformation")
        formation.create_stack(
            StackName=stack,
            TemplateURL=f"{self.url}/{BUCKET}/{stack}",
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[
                {"ParameterKey": name, "ParameterValue": value}
                for name, value in parameters.items()
            ],
        )
        formation.get_waiter("stack_create_complete").wait(
            StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE_SECONDS}
        )
        [described] = formation.describe_stacks(StackName=stack)["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in described["Outputs"]}

    def run_schedule(self, stack: str) -> Any:
        """Call what the stack's one schedule calls, as if its time had come; return the answer."""
        rule = self._resource(stack, "AWS::Events::Rule")
        [target] = self.client("events").list_targets_by_rule(Rule=rule)["Targets"]
        called = self.client("lambda").invoke(FunctionName=target["Arn"], Payload=b"{}")
        answer = json.loads(called["Payload"].read())
        assert "FunctionError" not in called, answer
        return answer

    def calls(self, stack: str) -> int:
        """Return how many calls of the functions of the stack's one log group have ended.

        Each has a log stream of its own here.
        """
        group = self._resource(stack, "AWS::Logs::LogGroup")
        pages = self.client("logs").get_paginator("describe_log_streams")
        return sum(len(page["logStreams"]) for page in pages.paginate(logGroupName=group))

    def _resource(self, stack: str, kind: str) -> str:
        found = self.client("cloudformation").describe_stack_resources(StackName=stack)
        [name] = [
            resource["PhysicalResourceId"]
            for resource in found["StackResources"]
            if resource["ResourceType"] == kind
        ]
        return str(name)

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)

    def _put(self, key: str, body: bytes) -> None:
        self.client("s3").put_object(Bucket=BUCKET, Key=key, Body=body)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log.read_text(encoding="utf-8")
        try:
            self.client("sts").get_caller_identity()
        except (BotoCoreError, ClientError):
            return False
        return True


def zipped(folder: Path, prefix: str = "") -> bytes:
    """Return a zip file of the folder's sources."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(folder.rglob("*.py")):
            archive.write(path, prefix + str(path.relative_to(folder)))
    return packed.getvalue()


def adapted(template: dict[str, Any]) -> dict[str, Any]:
    """Return what ministack takes of a template, with the clock in the test's hands.

    It has no alarms over several metrics. Schedules wait for `run_schedule`. And to it a field is
    absent only where all that it would stand in is there; AWS asks for no more than the field.
    """
    for name, resource in list(template["Resources"].items()):
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::CloudWatch::Alarm":
                del template["Resources"][name]
            case "AWS::Events::Rule":
                properties["State"] = "DISABLED"
            case "AWS::Lambda::EventSourceMapping":
                for one in properties["FilterCriteria"]["Filters"]:
                    pattern = json.loads(one["Pattern"])
                    image = pattern["dynamodb"]["NewImage"]
                    [image["later"]] = image["later"].values()
                    one["Pattern"] = json.dumps(pattern)
    return template


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once the condition holds.

    Raises:
        AssertionError: it did not within a minute.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
