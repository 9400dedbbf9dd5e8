"""Every answer is what its content type says: no browser is to look for markup in JSON or in a log."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADER = (b"x-content-type-options", b"nosniff")


class DeclaredTypes:
    """Middleware that says so where nobody has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def declared(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.setdefault("headers", [])
                if all(name != _HEADER[0] for name, _value in headers):
                    message["headers"] = [*headers, _HEADER]
            await send(message)

        await self._app(scope, receive, declared)
