"""The engine runs the pack inside its own folder, so its modules have no package; here they are found the same way."""

import sys

from tests.stacks import PROJECT

sys.path.insert(0, str(PROJECT / "policy"))
