"""Stand-in providers: the wire (`wire.py`), the state (`account.py`) and one set of rules for each cloud."""
