"""How the executor and its helper processes talk: JSON objects on a stream socket, with open files beside them.

Both ends are ours and on one machine, so there is no dialect and no version. A frame is a length and a JSON object;
descriptors travel with the length. A closed socket is how either side learns that the other has died.
"""

import json
import os
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("!I")
_DESCRIPTORS_AT_ONCE = 4

Message = dict[str, Any]


class Frames:
    """One end of a conversation. Any thread may send; one at a time receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._sending = threading.Lock()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """``OSError`` when the other end is gone."""
        body = json.dumps(message).encode()
        frame = _LENGTH.pack(len(body)) + body
        with self._sending:
            if descriptors:
                sent = socket.send_fds(self._socket, [frame], list(descriptors))
                frame = frame[sent:]
            if frame:
                self._socket.sendall(frame)

    def receive(self) -> tuple[Message, list[int]] | None:
        """The next message and the files that came with it; ``None`` when the other end is gone. Blocks.

        ``ValueError`` when what came is no message: the conversation is beyond repair.
        """
        try:
            length, descriptors, _flags, _address = socket.recv_fds(self._socket, _LENGTH.size, _DESCRIPTORS_AT_ONCE)
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)  # received ones are not private as others are
            length += self._read(_LENGTH.size - len(length)) if length else b""
            body = self._read(_LENGTH.unpack(length)[0]) if length else b""
        except (ConnectionError, EOFError):
            return None
        return (json.loads(body), descriptors) if body else None

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int) -> bytes:
        read = bytearray()
        while len(read) < size:
            chunk = self._socket.recv(size - len(read))
            if not chunk:
                raise EOFError
            read += chunk
        return bytes(read)


def frame_pair() -> tuple[Frames, socket.socket]:
    """An end to keep and an end to hand over."""
    kept, given = socket.socketpair()
    return Frames(kept), given
