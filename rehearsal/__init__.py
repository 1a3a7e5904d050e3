"""Rehearsals: the real Pulumi engine over the real program, against stand-ins instead of a cloud.

Anyone can watch a plan, an `up` and a `destroy` happen before they own an account or sign for a reservation.
A rehearsal can't touch a cloud, and can't be taken for the real thing:

- stand-in providers (`fakes/`) lie in a folder that only the rehearsal's PATH names;
- its stacks live in a workspace of their own (`engine.py`): state, home and stack file are scratch copies;
- nothing of the caller's environment reaches the program except a short list of harmless variables;
- every line that it prints as a result says that it is a rehearsal (`report.py`).

Nothing outside the tests imports this package.
"""
