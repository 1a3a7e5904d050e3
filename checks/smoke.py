"""Does the served model do what it was planned for? `make verify STACK=aws`, after `up` and after each change.

Named checks, one line each, and what to do where one fails. Nothing is made and nothing is changed; the questions cost
a few thousand tokens, the load about 400,000.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from checks import access, answers, context, load, plot, report
from checks.check import Check, Result, Subject, run
from checks.endpoint import Endpoint
from checks.port_forward import Cluster, NoLeaderError, Way, is_public, way
from checks.stack_outputs import NothingServedError, StackOutputs, read
from components.faults import nearest
from toolchain.tool import ToolMissingError

KEY_VARIABLE: Final = "KIMI_K3_API_KEY"
CHECKS: Final = (
    Check(name="health", run=access.health),
    Check(name="models", run=access.models),
    Check(name="answer", run=answers.answer),
    Check(name="reasoning", run=answers.reasoning),
    Check(name="tools", run=answers.tools),
    Check(name="structured", run=answers.structured),
    Check(name="image", run=answers.image),
    Check(name="streaming", run=answers.streaming),
    Check(name="long-context", run=context.long_context),
    Check(name="prefix-cache", run=context.prefix_cache),
    Check(name="key", run=access.key),
    Check(name="open-paths", run=access.open_paths),
    Check(name="load", run=load.load),
)
_NAMES: Final = [check.name for check in CHECKS]
_WRONG_USE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask and print.

    Returns:
        0 when no check failed, 1 when one did or the endpoint can't be reached, 2 for a wrong use or a stack that
        serves nothing.
    """
    options = _parser().parse_args(arguments)
    try:
        served = _served(options)
        with _way(options, served) as found:
            return _verify(options, served, found)
    except (NothingServedError, ToolMissingError) as error:
        return _refused(str(error), _WRONG_USE)
    except NoLeaderError as error:
        return _refused(str(error), 1)


def chosen(only: Sequence[str], skip: Sequence[str]) -> list[Check]:
    """Return the checks that are named, or all of them, without those that are skipped."""
    return [check for check in CHECKS if (not only or check.name in only) and check.name not in skip]


def _verify(options: argparse.Namespace, served: StackOutputs, found: Way) -> int:
    subject = Subject(
        endpoint=Endpoint(found.url, served.key, found.server_name),
        model=served.model,
        expectation=served.expectation,
        public=found.public,
        context=options.context,
        depth=options.depth,
        levels=options.levels,
    )
    _say(options, f"{served.model} at {served.endpoint}, {found.says}")
    results: list[Result] = []
    for result in run(chosen(options.only, options.skip), subject):
        results.append(result)
        _say(options, report.line(result))
    _say(options, report.summary(results))
    if options.json:
        sys.stdout.write(report.as_json(served.endpoint, found.says, results) + "\n")
    if options.plot is not None:
        levels = next((result.data["levels"] for result in results if "levels" in result.data), [])
        options.plot.write_text(plot.svg(levels))
    return int(any(result.status == "failed" for result in results))


def _served(options: argparse.Namespace) -> StackOutputs:
    if options.url:
        given = StackOutputs(endpoint=options.url, key=os.environ.get(KEY_VARIABLE) or None)
        return (
            given
            if options.model is None
            else StackOutputs(endpoint=given.endpoint, key=given.key, model=options.model)
        )
    return read(options.stack)


def _way(options: argparse.Namespace, served: StackOutputs) -> AbstractContextManager[Way]:
    if options.url:
        return nullcontext(Way(url=options.url, says="by its address", public=is_public(options.url)))
    cluster = Cluster(stack=options.stack, context=options.kube_context, namespace=options.namespace)
    return way(served.endpoint, cluster, forced=options.port_forward)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m checks.smoke", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("stack", nargs="?", help="a stack that is up")
    what.add_argument("--url", help=f"any endpoint instead, with /v1; its key is read from {KEY_VARIABLE}")
    parser.add_argument("--model", help="with --url: the model's name in requests")
    parser.add_argument("--only", type=_names, default=(), metavar="NAME,...", help=f"of: {', '.join(_NAMES)}")
    parser.add_argument("--skip", type=_names, default=(), metavar="NAME,...")
    parser.add_argument("--context", type=_context, default=32_768, help="tokens of the long prompt, or max")
    parser.add_argument("--depth", type=_share, default=0.5, help="where its needle is: 0 the beginning, 1 the end")
    parser.add_argument("--levels", type=_levels, default=(1, 4, 16), metavar="N,...", help="requests at once")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the load into an SVG file")
    parser.add_argument("--port-forward", action="store_true", help="through the Kubernetes API in any case")
    parser.add_argument("--kube-context", help="of the kubeconfig that kubectl uses; its current one by default")
    parser.add_argument("--namespace", help="of the leaders; the endpoint's, or all")
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in _NAMES:
            close = nearest(name, _NAMES)
            meant = f"did you mean {close}?" if close else f"there are {', '.join(_NAMES)}"
            raise argparse.ArgumentTypeError(f"no check is called {name!r}: {meant}")
    return names


def _context(text: str) -> int | None:
    return None if text == "max" else int(text)


def _share(text: str) -> float:
    if not 0 <= float(text) <= 1:
        raise argparse.ArgumentTypeError(f"{text} isn't between 0 and 1")
    return float(text)


def _levels(text: str) -> tuple[int, ...]:
    levels = tuple(int(level) for level in text.split(","))
    if not all(1 <= level <= 1024 for level in levels):
        raise argparse.ArgumentTypeError(f"{text}: each level is 1 to 1024 requests at once")
    return levels


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.json:
        print(text, flush=True)  # noqa: T201 - a command's output


def _refused(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
