import os
import socket
import threading

import pytest

from orth.executor.frames import PACKET, Frames, frame_pair


@pytest.fixture
def ends() -> tuple[Frames, Frames]:
    kept, given = frame_pair()
    return kept, Frames(given)


@pytest.mark.parametrize("size", [0, 1, PACKET - 8, PACKET, PACKET + 1, 5 * PACKET])
def test_a_message_arrives_whole_with_its_files(ends: tuple[Frames, Frames], size: int) -> None:
    sender, receiver = ends
    reading, writing = os.pipe()
    sending = threading.Thread(target=sender.send, args=({"text": "x" * size}, [writing]))
    sending.start()
    received = receiver.receive(files=True)
    sending.join()
    assert received is not None
    message, (descriptor,) = received
    assert message == {"text": "x" * size}
    os.write(descriptor, b"through it")
    assert os.read(reading, 100) == b"through it"
    assert not os.get_inheritable(descriptor)
    for opened in (reading, writing, descriptor):
        os.close(opened)


def test_files_that_nobody_expects_are_not_left_open(ends: tuple[Frames, Frames]) -> None:
    sender, receiver = ends
    reading, writing = os.pipe()
    sender.send({"do": "take"}, [writing])
    os.close(writing)
    assert receiver.receive() == ({"do": "take"}, [])
    assert os.read(reading, 1) == b"", "the other end of the pipe is closed everywhere"
    os.close(reading)


def test_messages_and_output_keep_their_order(ends: tuple[Frames, Frames]) -> None:
    sender, receiver = ends
    sender.send({"number": 1})
    assert sender.send_output(b"\0\xff\n", wait=False)
    sender.send({"number": 2})
    assert [receiver.receive() for _ in range(3)] == [
        ({"number": 1}, []),
        ({"output": b"\0\xff\n"}, []),
        ({"number": 2}, []),
    ]


def test_output_that_finds_no_room_is_not_sent_and_the_rest_is_whole(ends: tuple[Frames, Frames]) -> None:
    sender, receiver = ends
    sent = 0
    while sender.send_output(bytes([sent]) * PACKET, wait=False):
        sent += 1
    assert sent > 0
    for number in range(sent):
        assert receiver.receive() == ({"output": bytes([number]) * PACKET}, [])
    assert sender.send_output(b"again", wait=False)
    assert receiver.receive() == ({"output": b"again"}, [])


def test_what_is_no_message_is_refused() -> None:
    kept, given = frame_pair()
    given.send(b".{")
    with pytest.raises(ValueError, match="Expecting"):
        kept.receive()


@pytest.mark.parametrize("unread", [False, True])
def test_an_end_that_is_gone(unread: bool) -> None:
    kept, given = frame_pair()
    if unread:
        kept.send({"never": "read"})
    given.close()
    assert kept.receive() is None
    with pytest.raises(OSError, match="Broken pipe"):
        kept.send({"any": "thing"})


def test_a_message_that_breaks_off_is_the_end() -> None:
    kept, given = frame_pair()
    given.send(b"+" + b'{"half": "')
    given.close()
    assert kept.receive() is None


def test_both_ends_keep_packets_apart() -> None:
    kept, given = frame_pair()
    with given:
        assert given.type == socket.SOCK_SEQPACKET
    kept.close()
