"""An executor that asks with a key of its own: it enrols by itself where that is not known."""

import json
import secrets
from typing import Any

from orth.clock import Clock, SystemClock
from orth.wire.bounded_http import BoundedHttp
from orth.wire.enrolment_calls import Enrolment
from orth.wire.signatures import Signer, key_of
from orth.wire.signed_http import SignedHttp
from orth.wire.work_keys import OwnKey, incarnation_of, new_process, work_key_of_process
from tests.coordinator.http.live import Answer

ADDRESS = "http://10.0.0.1:9999"


class EnrolledCaller:
    """One process of an executor."""

    def __init__(
        self,
        url: str,
        token: str,
        app_name: str,
        clock: Clock | None = None,
        *,
        address: str = ADDRESS,
        own: OwnKey | None = None,
    ) -> None:
        self.own = own or OwnKey(secrets.token_hex(32), new_process())
        self.address, self._app_name, self._url = address, app_name, url
        clock = clock or SystemClock()
        http = BoundedHttp(clock, hosts=1, connections=4)
        enrolment = Enrolment(self.own.executor_key, token, app_name, address, clock)
        signer = Signer(self.incarnation, clock)
        self._http = SignedHttp(http, token, {}, signer, enrolment=enrolment)

    @property
    def key_id(self) -> str:
        return key_of(self.own.executor_key).id

    @property
    def incarnation(self) -> str:
        return incarnation_of(self.own.work_key)

    def name_of(self, process: str) -> str:
        """Another process of the same executor."""
        return incarnation_of(work_key_of_process(self.own.executor_key, process))

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        headers = {"Content-Type": "application/json"}
        prefix, _, rest = path.partition("/api/")
        answer = self._http.ask(
            "POST",
            self._url + prefix,
            f"/api/{rest}",
            headers=headers,
            timeout=30,
            body=json.dumps(body).encode(),
            connect=5,
        )
        return Answer(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.body)

    def beat(self, path: str = "/api/registry", **said: Any) -> Answer:
        orth = {"incarnation": self.incarnation, "process": self.own.process, "extensions": ["signed", "work-key"]}
        body = {"registryKey": self._app_name, "registryValue": self.address, "orth": {**orth, **said}}
        return self.post(path, body)
