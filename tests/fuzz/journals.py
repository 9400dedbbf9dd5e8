"""The journal of results: segments of any bytes, as a crash, a bad disk or another version may leave them."""

import json
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from orth.events import Events
from orth.executor.journal import ENDED_KEPT, Journal, done_record, ended_records, put_record
from orth.wire.messages import CallbackItem
from tests.fuzz.mutations import any_json, misshapen, mutated
from tests.fuzz.target import MEMORY, Target

_PUT = put_record(CallbackItem(log_id=1, handle_code=200, handle_msg="done", log_date_time=5))
_RECORDS = [_PUT, done_record([1, 2]), *ended_records({3: (200, 5, 1), 4: (500, 6, 2)})]
_BODIES: list[Any] = [
    {"v": 1, "put": {"logId": 2, "handleCode": 500, "handleMsg": "no", "logDateTime": 7, "final": True}},
    {"v": 1, "done": [1, 2, 3]},
    {"v": 1, "ended": [[3, 200, 5], [4, 500, 6]]},
    {"v": 2, "put": {}},
]


def framed(body: Any) -> bytes:
    """A record with a good checksum, whatever it holds: what only a program, not a bad disk, can write."""
    written = json.dumps(body).encode("utf-8", "surrogatepass")
    return b"%08x %d %s\n" % (zlib.crc32(written), len(written), written)


_segments = st.one_of(
    mutated(_RECORDS),
    st.lists(
        st.one_of(misshapen(_BODIES).map(framed), any_json.map(framed), st.sampled_from(_RECORDS)), max_size=5
    ).map(b"".join),
)


def recover(segments: Sequence[bytes]) -> None:
    """A start over the segments: it succeeds, a second one finds the same, and what was good is there."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for number, segment in enumerate(segments, 1):
            (Path(folder) / f"{number:08d}.journal").write_bytes(segment)
        first, ended = _started(Path(folder))
        again, ended_again = _started(Path(folder))
        assert again == first
        assert ended_again == ended
        assert len(ended) <= ENDED_KEPT


def _started(folder: Path) -> tuple[dict[int, CallbackItem], dict[int, tuple[int, int]]]:
    journal = Journal(folder, Events())
    try:
        waiting = journal.recover()
        journal.append(_PUT, force=True)  # and it can be written to
        journal.append(done_record([1]), force=False)
        journal.rewrite(lambda: map(put_record, waiting.values()))
        return waiting, dict(journal.ended)
    finally:
        journal.close()


TARGETS = [
    Target("segments of the journal", st.lists(_segments, min_size=1, max_size=3), recover, bound=0.5, examples=120),
]
