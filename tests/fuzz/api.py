"""The API of a coordinator in the long form: new requests made from its OpenAPI document, each sent by everybody.

What is looked for is in ``tests.coordinator.http.asked_by_all``; the short form is ``test_openapi`` beside it.
"""

import os
import tempfile
import time
import traceback
from pathlib import Path

from tests.coordinator.http.asked_by_all import AskedByAll, Tally, operations_of
from tests.coordinator.http.live import Site, prepared_database
from tests.coordinator.http.marked_site import THEIR_MARKS, MarkedSite

NAME = "API, asked by everybody"
_EXAMPLES = 5
"""Requests of each kind before the next operation has its turn."""


def run(seconds: float) -> bool:
    """Rounds over all operations until the time is over; whether nothing was found."""
    tally, found = Tally(), 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Site(prepared_database(Path(folder) / "orth.db")) as site:
        asked = AskedByAll(MarkedSite(site), tally)
        operations = operations_of(site.admin().get("/api/openapi.json").json)
        turn = 0
        while time.monotonic() - began < seconds:
            operation = operations[turn % len(operations)]
            turn += 1
            try:
                asked.exercise(operation, _EXAMPLES, chance=int.from_bytes(os.urandom(8), "big"))
            except (AssertionError, BaseExceptionGroup) as finding:  # a check that failed, or several at once
                found += 1
                print("".join(traceback.format_exception(finding)), flush=True)
    spent = time.monotonic() - began
    print(f"{NAME}: {tally.requests} requests, {tally.requests / spent:.0f}/s, {turn} turns of {len(operations)}")
    for who, answered in tally.by_caller.items():
        print(f"    {who:<14}", {f"{kind}xx": count for kind, count in sorted(answered.items())})
    unseen = THEIR_MARKS - tally.seen if turn >= len(operations) else ()
    print(f"    findings: {found}; marks that nobody was shown: {', '.join(sorted(unseen)) or 'none'}")
    return not found and not unseen
