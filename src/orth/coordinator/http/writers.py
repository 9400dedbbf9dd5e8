"""Who changes jobs, as ``scripting`` wants to know it."""

from orth.coordinator.http.callers import Caller
from orth.coordinator.http.tools import Tools
from orth.coordinator.scripting import Bounds, Writer


def writer_of(caller: Caller, tools: Tools) -> Writer:
    own = tools.settings.coordinator
    return Writer(caller.actor, caller.rights, Bounds(own.script_size, own.script_versions))
