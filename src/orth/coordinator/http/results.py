"""Results, and word of what runs, from executors that may speak for their own group only.

A result for another group's execution changes nothing and is written to the audit. The sender is asked to keep it: it
may have been given the wrong token, and a result is not lost for that. When there is nothing else in a callback, all of
it is refused. Word of what another group's executor runs is not taken either, and that is all: nothing is lost.

A result that does not fit an open execution (``orth.coordinator.proving``) counts as little: senders that read verdicts
are asked to keep it. Other senders are refused if the request holds nothing else, Java executors in any case: an
executor with several coordinators then offers the result to the next one, which may be the right one. What else the
request held has been applied, and changes nothing when it comes again. Once the execution has ended, nobody keeps it.
"""

from collections.abc import Collection, Sequence
from itertools import islice

from orth.coordinator.executor_access import not_of_its_apps
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.tools import Tools
from orth.coordinator.proving import Sender
from orth.domain.audit import Deed
from orth.errors import Forbidden
from orth.store.tokens import apps_of_executions
from orth.wire.beginnings import BegunReport
from orth.wire.dialects import Malformed
from orth.wire.messages import CallbackItem, CallbackVerdict, Verdict

_NOTED = 100
"""Refused results of one request that are told to the audit, which has room for fewer in ten minutes."""


async def take_results(
    tools: Tools, key: ExecutorKey, sender: Sender, items: Sequence[CallbackItem | Malformed], *, reads_verdicts: bool
) -> list[CallbackVerdict]:
    """What became of each result."""
    foreign = await _of_others(tools, key, {item.log_id for item in items if not isinstance(item, Malformed)})
    if not foreign:
        return await _take(tools, key, sender, items, reads_verdicts)
    for execution_id, app_name in islice(foreign.items(), _NOTED):
        deed = Deed("callback.refused", "execution", str(execution_id), after={"app_name": app_name})
        await tools.refusals.note_executor(key, sender.address or "", deed)
    own = [item for item in items if item.log_id not in foreign]
    if not own:
        raise not_of_its_apps(key)
    refused = [CallbackVerdict(log_id=execution_id, verdict=Verdict.RETRY) for execution_id in foreign]
    return await _take(tools, key, sender, own, reads_verdicts) + refused


async def _take(
    tools: Tools, key: ExecutorKey, sender: Sender, items: Sequence[CallbackItem | Malformed], reads_verdicts: bool
) -> list[CallbackVerdict]:
    judged = await tools.callbacks.take(items, sender)
    for execution_id, why in islice(judged.unproved.items(), _NOTED):
        deed = Deed("callback.refused", "execution", str(execution_id), after={"reason": why.value})
        await tools.refusals.note_executor(key, sender.address or "", deed, why)
    kept = [one.verdict is Verdict.RETRY for one in judged.verdicts]
    offers_elsewhere = any(kept) if sender.echoes_trigger_times else all(kept) and len(kept) == len(items)
    if judged.unproved and not reads_verdicts and offers_elsewhere:
        raise Forbidden(f"The execution was not sent to whoever reports it: {next(iter(judged.unproved.values()))}.")
    return judged.verdicts


async def take_begun(tools: Tools, key: ExecutorKey, report: BegunReport) -> set[int]:
    """Of which executions it is to be said again that they run."""
    foreign = await _of_others(tools, key, {one.log_id for one in report.begun})
    if foreign and len(foreign) == len({one.log_id for one in report.begun}):
        raise not_of_its_apps(key)
    own = tuple(one for one in report.begun if one.log_id not in foreign)
    return await tools.beginnings.take(report.model_copy(update={"begun": own}))


async def _of_others(tools: Tools, key: ExecutorKey, ids: Collection[int]) -> dict[int, str]:
    """The executions that are of groups this token does not speak for, with their app names."""
    if key.app_names is None:
        return {}
    apps = await tools.db.read(apps_of_executions, ids)
    return {execution_id: app_name for execution_id, app_name in apps.items() if not key.serves(app_name)}
