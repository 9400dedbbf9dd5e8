"""Which of the channels are an executor's business, by their names alone, whatever token it has."""

from orth.channels.names import Names
from orth.errors import Forbidden


class Allowed:
    """Which channels an executor may use, and how."""

    def __init__(self, names: Names) -> None:
        marker = "\0"
        self._dispatch = names.dispatch(marker).partition(marker)[0]
        self._told = frozenset({names.worker_heartbeat})
        self._heard = frozenset({names.cancel, names.logs_wanted})
        self._about = names.status(0, 0).partition("0.status")[0]
        self._own, _, self._own_end = names.acknowledged(marker).partition(marker)

    def queue(self, name: str) -> str:
        return self._checked(name, name.startswith(self._dispatch))

    def tell(self, topic: str) -> str:
        return self._checked(topic, topic in self._told)

    def hear(self, topic: str) -> str:
        return self._checked(topic, topic in self._heard)

    def post(self, box: str) -> str:
        return self._checked(box, self._is_execution(box))

    def read(self, box: str) -> str:
        """Logs are written by executors and read by coordinators."""
        return self._checked(box, self._is_process(box) or self._is_execution(box, ("status",)))

    def remove(self, box: str) -> str:
        return self._checked(box, self._is_process(box))

    def _is_process(self, box: str) -> bool:
        return box.startswith(self._own) and box.endswith(self._own_end)

    def _is_execution(self, box: str, kinds: tuple[str, ...] = ("status", "logs")) -> bool:
        job, _, rest = box.removeprefix(self._about).partition(".")
        kind, _, execution = rest.partition(".")
        named = kind in kinds and job.isdecimal() and execution.isdecimal()
        return box.startswith(self._about) and named

    @staticmethod
    def _checked(name: str, allowed: bool) -> str:
        if not allowed:
            raise Forbidden(f"An executor has no business with the channel {name[:160]!r}.")
        return name
