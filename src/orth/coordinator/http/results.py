"""Results, from executors that may speak for their own group only.

A result for another group's execution changes nothing and is written to the audit. The sender is asked to keep it: it
may have been given the wrong token, and a result is not lost for that. When there is nothing else in a callback, all of
it is refused.
"""

from collections.abc import Sequence

from orth.coordinator.executor_access import not_its_app
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.tools import Tools
from orth.domain.audit import Deed
from orth.store.tokens import apps_of_executions
from orth.wire.dialects import Malformed
from orth.wire.messages import CallbackItem, CallbackVerdict, Verdict


async def take_results(
    tools: Tools, key: ExecutorKey, address: str, items: Sequence[CallbackItem | Malformed]
) -> list[CallbackVerdict]:
    """What became of each result."""
    foreign = await _of_others(tools, key, items)
    if not foreign:
        return await tools.callbacks.take(items)
    for execution_id, app_name in foreign.items():
        deed = Deed("callback.refused", "execution", str(execution_id), after={"app_name": app_name})
        await tools.refusals.note_executor(key, address, deed)
    own = [item for item in items if item.log_id not in foreign]
    if not own:
        raise not_its_app(key, next(iter(foreign.values())))
    refused = [CallbackVerdict(log_id=execution_id, verdict=Verdict.RETRY) for execution_id in foreign]
    return await tools.callbacks.take(own) + refused


async def _of_others(tools: Tools, key: ExecutorKey, items: Sequence[CallbackItem | Malformed]) -> dict[int, str]:
    """The executions that are of groups this token does not speak for, with their app names."""
    if key.app_names is None:
        return {}
    ids = {item.log_id for item in items if isinstance(item, CallbackItem)}
    apps = await tools.db.read(apps_of_executions, ids)
    return {execution_id: app_name for execution_id, app_name in apps.items() if not key.serves(app_name)}
