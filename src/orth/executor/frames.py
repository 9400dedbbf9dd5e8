"""How the executor and its helper processes talk: JSON objects on a packet socket, with open files beside them.

Both ends are ours and on one machine, so there is no dialect and no version. A message is one packet, which is taken
with one call; one that is too long for that is several, of which all but the last say that more follows. Descriptors
travel with the first. What a command writes is passed on as it is, in packets of another kind, and that a child has
ended with nothing left, the most frequent report of all, is one more kind. A closed socket is how either side learns
that the other has died.
"""

import json
import os
import socket
import threading
from collections.abc import Sequence
from typing import Any

_LAST, _MORE, _OUTPUT, _ENDED = b".", b"+", b"=", b"!"
PACKET = 65_536
"""Bytes of a packet at most."""
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
        with self._sending:
            last = max(0, len(body) - 1) // PACKET * PACKET
            for start in range(0, last, PACKET):
                self._send(_MORE + body[start : start + PACKET], descriptors)
                descriptors = ()
            self._send(_LAST + body[last:], descriptors)

    def send_output(self, data: bytes, *, wait: bool) -> bool:
        """Pass on what a command wrote; false when there is no room for it now and the caller will not ``wait``."""
        try:
            with self._sending:
                self._socket.send(_OUTPUT + data, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return True

    def send_ended(self, status: int) -> None:
        """Report the end of a child that has left nothing behind."""
        with self._sending:
            self._socket.send(b"%b%d" % (_ENDED, status))

    def receive(self, *, files: bool = False) -> tuple[Message, list[int]] | None:
        """The next message and the files that came with it; ``None`` when the other end is gone. Blocks. Only who
        expects ``files`` gets them; for the others the kernel closes what may have come.

        Output of a command is a message of the single key ``output``, with the bytes; the end of a child that left
        nothing behind one of the single key ``ended``.
        ``ValueError`` when what came is no message: the conversation is beyond repair.
        """
        try:
            packet, descriptors = self._packet_with_files() if files else (self._socket.recv(1 + PACKET), [])
            if packet.startswith(_OUTPUT):
                return {"output": packet[1:]}, descriptors
            if packet.startswith(_ENDED):
                return {"ended": int(packet[1:])}, descriptors
            body = [packet[1:]]
            while packet.startswith(_MORE):
                packet = self._socket.recv(1 + PACKET)
                body.append(packet[1:])
        except ConnectionError:
            return None
        return (json.loads(b"".join(body)), descriptors) if packet else None

    def _packet_with_files(self) -> tuple[bytes, list[int]]:
        packet, descriptors, _flags, _address = socket.recv_fds(self._socket, 1 + PACKET, _DESCRIPTORS_AT_ONCE)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # received ones are not private as others are
        return packet, descriptors

    def _send(self, packet: bytes, descriptors: Sequence[int]) -> None:
        if descriptors:
            socket.send_fds(self._socket, [packet], list(descriptors))
        else:
            self._socket.send(packet)

    def close(self) -> None:
        self._socket.close()


def frame_pair() -> tuple[Frames, socket.socket]:
    """An end to keep and an end to hand over."""
    kept, given = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Frames(kept), given
