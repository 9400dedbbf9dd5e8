"""Questions about offers, and their answers."""

import pytest

from orth.errors import InvalidMessage, Unavailable
from orth.wire.messages import Reply
from orth.wire.open_offers import (
    AskedOffer,
    OpenOffers,
    OpenOffersQuestion,
    read_open_offers,
    read_open_offers_question,
)

KEY = "5d" * 32


def test_a_question_arrives_as_it_was_asked_and_shows_its_keys_to_nobody() -> None:
    question = OpenOffersQuestion(offers=(AskedOffer(execution_id=17, sending=3, report_key=KEY),))
    assert read_open_offers_question(question.to_bytes()) == question
    assert KEY not in repr(question)
    assert read_open_offers_question(OpenOffersQuestion().to_bytes()).offers == ()


@pytest.mark.parametrize("body", [b"[]", b'{"offers": [{"executionId": -1}]}', b'{"offers": 3}'])
def test_what_is_no_question_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidMessage):
        read_open_offers_question(body)


def test_an_answer_names_what_stands() -> None:
    found = read_open_offers(Reply(code=200, payload={"open": [17], "newest": 42, "more": True}))
    assert found == OpenOffers(open=(17,), newest=42)


@pytest.mark.parametrize("payload", [None, "OK", {"open": [17]}, {"newest": -1}])
def test_an_answer_of_another_form_is_none(payload: object) -> None:
    """Nothing is begun by it, and nothing is dropped."""
    with pytest.raises(Unavailable):
        read_open_offers(Reply(code=200, payload=payload))
