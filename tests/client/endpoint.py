"""Lambda's own API, as far as the client calls it: functions by name, behind their alias."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from local.template import load_template, read_functions
from local.workers import InvocationError
from tests.client.server import Received, Reply, ReplyingServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.lambdas import Lambdas

STACK = "queue"
_TARGET = re.compile(r"/2015-03-31/functions/([a-zA-Z0-9-]+)/invocations\?Qualifier=live")


def lambda_endpoint(invoke: Callable[[str, Any], Any]) -> ReplyingServer:
    """Return an endpoint; ``invoke`` is given a function's name and its event."""

    def reply(request: Received) -> Reply:
        target = _TARGET.fullmatch(request.target)
        assert target, request.target
        try:
            outcome = invoke(target[1], json.loads(request.body))
        except InvocationError as error:
            failure = json.dumps({"errorMessage": str(error)}).encode()
            return Reply(200, failure, {"X-Amz-Function-Error": "Unhandled"})
        return Reply(200, json.dumps(outcome).encode())

    return ReplyingServer(reply)


def deployed(lambdas: Lambdas) -> Callable[[str, Any], Any]:
    """Return what calls the template's functions by their names in the stack."""
    names = {
        f"{STACK}-{function.source.parent.name.replace('_', '-')}": name
        for name, function in read_functions(load_template()).items()
    }
    return lambda name, event: lambdas.invoke(names[name], event)
