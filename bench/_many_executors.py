"""Stands in for many executors in one process: answers ``/health`` and ``/beat`` on one port of every loopback address.

Run as a program with the port; it serves until it is killed, which is then the end of all of them.
"""

import asyncio
import json
import sys
import time


class Door(asyncio.Protocol):
    """One connection; a request is whole when its head has come, for the few bodies are small."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.head = b""

    def data_received(self, data: bytes) -> None:
        self.head += data
        while b"\r\n\r\n" in self.head:
            head, _, self.head = self.head.partition(b"\r\n\r\n")
            if head.startswith(b"POST"):
                self.head = self.head.removeprefix(b"{}")
                body = b'{"code":200}'
            else:
                body = json.dumps({"status": "ok", "now": time.time_ns() // 1_000_000}).encode()
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Door, "0.0.0.0", port, backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
