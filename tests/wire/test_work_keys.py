"""Work keys: made from both, and acknowledged by name."""

from orth.wire.signatures import key_of
from orth.wire.work_keys import acknowledged, acknowledgement, new_work_key, work_key_of

TOKEN = "token-of-a-group"


def test_a_key_needs_the_token_and_the_work_key() -> None:
    first, second = new_work_key(), new_work_key()
    keys = {work_key_of(token, work_key) for token in (TOKEN, "another") for work_key in (first, second)}
    assert len({key.id for key in keys}) == len({key.secret for key in keys}) == 4
    assert work_key_of(TOKEN, first) == work_key_of(TOKEN, first)
    assert key_of(TOKEN).id not in {key.id for key in keys}


def test_the_name_of_a_key_tells_neither() -> None:
    work_key = new_work_key()
    key = work_key_of(TOKEN, work_key)
    assert len(bytes.fromhex(work_key)) == 32
    assert len(key.id) == 16
    assert key.id not in key.secret.hex()
    assert key.id not in work_key


def test_an_answer_that_says_nothing_of_work_keys_acknowledges_none() -> None:
    key = work_key_of(TOKEN, new_work_key())
    assert acknowledged(acknowledgement(key)) == key.id
    for payload in (None, "", "success", [], {}, {"workKey": None}, {"workKey": 7}, {"verdicts": []}):
        assert acknowledged(payload) is None
