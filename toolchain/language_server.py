"""Runs a Pulumi program written in Python for the engine: the stand-in for the real language host.

The SDK has the gRPC server already (it serves inline programs of the automation API); this adds where the
program is. The engine starts the process, reads the port from its first line of output and calls `Run`.
"""

import contextlib
import functools
import os
import runpy
import signal
import sys
from concurrent import futures
from pathlib import Path

import grpc
from pulumi.automation import _server
from pulumi.runtime.proto import language_pb2, language_pb2_grpc


class ProgramServer(_server.LanguageServer):
    """Runs the program of the folder that the engine names."""

    def __init__(self) -> None:
        super().__init__(program=lambda: None)

    def Run(  # noqa: N802 - the name of the remote procedure
        self, request: language_pb2.RunRequest, context: grpc.ServicerContext
    ) -> language_pb2.RunResponse:
        """Runs the program's entry point from its own folder, with that folder first on the import path."""
        folder = Path(request.info.program_directory or request.info.root_directory)
        entry_point = folder / (request.info.entry_point or ".")
        if entry_point.is_dir():
            entry_point /= "__main__.py"
        os.chdir(folder)
        # In place of our own root, which `-m` put there: the program sees what the real host would show it.
        sys.path[0] = str(folder)
        self.program = functools.partial(_run, entry_point)
        # The SDK's stub wants a private class, of which the public one that gRPC passes is the base.
        response = super().Run(request, context)  # pyright: ignore[reportArgumentType]
        # The SDK has logged the error. The real host then only says that it stopped, else it is printed twice.
        return language_pb2.RunResponse(bail=True) if response.error else response


def _run(entry_point: Path) -> None:
    runpy.run_path(str(entry_point), run_name="__main__")


def serve() -> None:
    """Serves on a free port until the engine that started us is gone, or Ctrl-C."""
    engine = os.getppid()
    # In the background of a script it is inherited as ignored, and this is how the engine ends us.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(ProgramServer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # Ctrl-C reaches the whole process group, from the first line of output on: a traceback would land in the middle of
    # the engine's.
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        while os.getppid() == engine:
            server.wait_for_termination(timeout=1)
    sys.stdout.flush()
    # Not sys.exit: it would wait for a program whose engine no longer answers.
    os._exit(0)


if __name__ == "__main__":
    serve()
