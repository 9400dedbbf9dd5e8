"""Executors on real sockets whose logs a test writes: as ours, or as one of another make."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orth.store.dispatching import Assignment, assign_executions, record_accepted
from tests.coordinator.http.live import Site
from tests.wire.peers import Exchange, Peer

EXECUTIONS = "/api/v1/executions"
PAGE_LINES = 1000
PAGE_CHARACTERS = 1_000_000


class Scroll:
    """One log, which grows by what a test adds; ``ours`` can wait and give its end."""

    def __init__(self, *texts: str, ours: bool = True) -> None:
        self.texts = list(texts)
        self.ours = ours
        self.finished = False
        self.asked: list[dict[str, Any]] = []
        self.waiting = 0
        self._changed = threading.Condition()

    def add(self, *texts: str) -> None:
        with self._changed:
            self.texts += texts
            self._changed.notify_all()

    def finish(self) -> None:
        with self._changed:
            self.finished = True
            self._changed.notify_all()

    def answer(self, exchange: Exchange) -> None:
        asked = exchange.request.json()
        assert isinstance(asked, dict)
        self.asked.append(asked)
        exchange.respond(json.dumps({"code": 200, "msg": None, "data": self._page(asked, exchange)}).encode())

    def _page(self, asked: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
        line = asked["fromLineNum"]
        with self._changed:
            if self.ours and "wait" in asked:
                self.waiting += 1
                for _ in range(asked["wait"] * 10):
                    if len(self.texts) >= line or self.finished or exchange.stopping.is_set():
                        break
                    self._changed.wait(0.1)
                self.waiting -= 1
            if self.ours and "tail" in asked:
                line = max(1, len(self.texts) - asked["tail"] + 1)
            taken = self.texts[line - 1 : line - 1 + PAGE_LINES]
            while self.ours and len(taken) > 1 and sum(map(len, taken)) > PAGE_CHARACTERS:
                taken = taken[: len(taken) // 2]
            last = line - 1 + len(taken)
            end = last == len(self.texts) and (self.finished or not self.ours)
        return {"fromLineNum": line, "toLineNum": last, "logContent": "\n".join(taken), "isEnd": end}


@contextmanager
def serving(scroll: Scroll) -> Iterator[str]:
    """The address of an executor that has this log."""
    with Peer(scroll.answer) as peer:
        yield peer.address


def taken_by(site: Site, address: str, *, ours: bool = False) -> int:
    """A new execution that the executor at ``address`` has taken."""
    groups = site.admin().get("/api/v1/groups").json["items"]
    execution_id = site.execution(site.job(job_group=groups[0]["id"] if groups else site.group()))
    hand_over(site, execution_id, address, ours=ours)
    return execution_id


def hand_over(site: Site, execution_id: int, address: str, *, ours: bool) -> None:
    """Let an execution be taken by the executor at ``address``."""
    assignment = Assignment(execution_id, address, "process-1" if ours else None, "by hand")
    site.tx(assign_executions, [assignment], 1, site.clock.now())
    site.tx(record_accepted, [execution_id], site.clock.now())


def end(site: Site, execution_id: int, code: int = 200) -> None:
    site.executor().post(
        "/api/callback", [{"logId": execution_id, "logDateTim": site.trigger_time(execution_id), "handleCode": code}]
    ).envelope()


@contextmanager
def written(site: Site, scroll: Scroll) -> Iterator[int]:
    """An execution with this log."""
    with serving(scroll) as address:
        yield taken_by(site, address, ours=scroll.ours)
