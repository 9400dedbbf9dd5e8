"""What every call to an executor is made with: where it may go, what it shows there, and over which TLS."""

from dataclasses import dataclass
from ssl import SSLContext
from typing import Self

from orth.clock import Clock
from orth.coordinator.executor_keys import ExecutorKeys
from orth.coordinator.sealing import Sealing
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.database import Database
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.health_calls import HealthCalls
from orth.wire.key_calls import KeyCalls
from orth.wire.outbound import Outbound
from orth.wire.peer_tls import peer_tls
from orth.wire.signatures import Signer
from orth.wire.watch_lines import LineSecurity


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Made once for a coordinator. What it learns about an executor serves all its calls."""

    keys: ExecutorKeys
    signer: Signer
    outbound: Outbound
    tls: SSLContext | None

    @classmethod
    def of(cls, settings: Settings, db: Database, clock: Clock, sealing: Sealing, *, node_id: str, token: str) -> Self:
        security = settings.security
        return cls(
            ExecutorKeys(
                db,
                clock,
                sealing,
                shared_tokens(security, token),
                shared_is_good=security.global_executor_token,
                must_sign=security.require_signatures,
            ),
            Signer(node_id, clock),
            executors_outbound(settings),
            peer_tls(security),
        )

    def calls(
        self,
        *,
        timeout: float,
        connections: int = 1_000,
        per_executor: int = 64,
        log_patience: float | None = None,
    ) -> ExecutorCalls:
        return ExecutorCalls(
            timeout=timeout,
            connections=connections,
            per_executor=per_executor,
            outbound=self.outbound,
            credentials=self.keys,
            signer=self.signer,
            tls=self.tls,
            log_patience=log_patience,
        )

    def health_calls(self, *, timeout: float, connections: int) -> HealthCalls:
        return HealthCalls(timeout=timeout, connections=connections, outbound=self.outbound, tls=self.tls)

    def key_calls(self, *, timeout: float) -> KeyCalls:
        return KeyCalls(self.signer, timeout=timeout, outbound=self.outbound, tls=self.tls)

    @property
    def lines(self) -> LineSecurity:
        return LineSecurity(self.outbound, self.keys, self.signer, self.tls)


def executors_outbound(settings: Settings) -> Outbound:
    """Where executors may be called."""
    security = settings.security
    return Outbound(security.outbound_allow, security.outbound_deny, settings.calls_loopback)


def shared_tokens(security: SecuritySection, token: str) -> tuple[str, ...]:
    """The tokens good for every app: the one in use, and the one before it while executors are changed over."""
    previous = security.access_token_previous
    return (token,) if previous is None else (token, previous.get_secret_value())
