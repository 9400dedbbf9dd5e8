"""A small OpenID Connect issuer on a real socket: it signs people in without asking, and can be made to misbehave."""

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "orth", "what the issuer: knows us by"
SYMMETRIC = {"kty": "oct", "k": "A" * 43}
"""A key that everybody can read, and that must sign nothing."""


class Issuer:
    """An issuer that serves, from ``__enter__`` on. Whoever comes is ``person``."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.person: dict[str, Any] = {"sub": "1001", "preferred_username": "ada"}
        self.changed: dict[str, Any] = {}
        """Claims put over those that are right; None leaves one out."""
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.described: dict[str, Any] = {}
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def signed(self, claims: dict[str, Any]) -> str:
        # Written here, because the library refuses to write what another one may: halves of surrogate pairs.
        header = {"alg": "RS256", "kid": self.key.kid, "typ": "JWT"}
        return jws.serialize_compact(header, json.dumps(claims).encode(), self.key)

    def description(self) -> dict[str, Any]:
        doors = {"authorization_endpoint": "/authorize?tenant=1", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        return {"issuer": self.url, **{name: self.url + path for name, path in doors.items()}, **self.described}

    def keys(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False), {**SYMMETRIC, "kid": "symmetric"}, 7]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert (asked["response_type"], asked["client_id"], asked["tenant"]) == ("code", CLIENT_ID, "1")
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, str] | None:
        """What is given for a code, once, to who asked for it."""
        asked = self._codes.pop(form["code"], None)
        expected = base64.b64encode(f"{CLIENT_ID}:{quote(CLIENT_SECRET, safe='')}".encode()).decode()
        if asked is None or authorization != f"Basic {expected}" or form["redirect_uri"] != asked["redirect_uri"]:
            return None
        hashed = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(hashed).decode().rstrip("=") != asked["code_challenge"]:
            return None
        now = self.now() // 1000
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims = {name: value for name, value in {**claims, **self.person, **self.changed}.items() if value is not None}
        return {"token_type": "Bearer", "access_token": "unused", "id_token": self.sign(claims)}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                issuer.asked.append(parts.path)
                if parts.path == "/authorize":
                    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                    self.send_response(302)
                    self.send_header("Location", issuer.authorize(asked))
                    self.end_headers()
                elif parts.path == "/jwks":
                    self._answer(issuer.keys())
                else:
                    self._answer(issuer.description())

            def do_POST(self) -> None:
                issuer.asked.append(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                given = issuer.token(form, self.headers.get("Authorization", ""))
                self._answer(given or {"error": "invalid_grant"}, 200 if given else 400)

            def _answer(self, said: object, status: int = 200) -> None:
                body = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler
