"""Makes packages of a built layer import the names that they offer when these are first asked for.

Powertools' event handler imports itself for every kind of event and API, asyncio included: a
tenth of a cold start's CPU time. All names stay, also for workers that attach the layer. pydantic
does the same by itself.
"""

import ast
import sys
from pathlib import Path

PACKAGES = (
    "aws_lambda_powertools/event_handler",
    "aws_lambda_powertools/event_handler/openapi",
    "aws_lambda_powertools/utilities/data_classes",
)

ON_DEMAND = """
_WHERE = {where}


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_WHERE[name], __name__), name)
    return value
"""


def main() -> int:
    """Change the packages in the folder named on the command line, a layer's python/."""
    for package in PACKAGES:
        path = Path(sys.argv[1]) / package / "__init__.py"
        path.write_text(deferred(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def deferred(source: str) -> str:
    """Return a package's code with its imports put off.

    Raises:
        ValueError: it does more than to import names and list them in ``__all__``.
    """
    where: dict[str, str] = {}
    kept: list[ast.stmt] = []
    for node in ast.parse(source).body:
        match node:
            case ast.ImportFrom() if not any(name.asname for name in node.names):
                module = "." * node.level + (node.module or "")
                # A module hides what it offers under its own name.
                alike = [name for name in node.names if name.name == module.rpartition(".")[2]]
                where |= {name.name: module for name in node.names if name not in alike}
                if alike:
                    kept.append(ast.ImportFrom(node.module, alike, node.level))
            case ast.Expr() | ast.Assign():
                kept.append(node)
            case _:
                raise ValueError(ast.unparse(node))
    return ast.unparse(ast.Module(kept, [])) + "\n\n" + ON_DEMAND.format(where=repr(where)).lstrip()


if __name__ == "__main__":
    sys.exit(main())
