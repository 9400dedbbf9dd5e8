"""Where somebody else is signed in, for administrators: to see, and to end."""

from fastapi import APIRouter

from orth.coordinator.http.auth import SessionList, SessionsEnded, forget_sessions, session_shown
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.tools import ToolsHere
from orth.coordinator.http.users import UserId
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.sessions import Session
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.sessions import end_sessions, sessions_of
from orth.store.users import get_user

router = APIRouter(
    prefix="/api/v1/users/{user_id}/sessions",
    tags=["users"],
    dependencies=[needs(Permission.ADMINISTER, everywhere=True)],
)


@router.get("")
async def sessions(user_id: UserId, tools: ToolsHere, caller: CallerHere) -> SessionList:
    """Where somebody is signed in."""
    found = await tools.db.read(_sessions, user_id, tools.clock.now())
    return SessionList(items=[session_shown(one, caller.session_id or "") for one in found])


@router.delete("")
async def end(user_id: UserId, tools: ToolsHere, caller: CallerHere) -> SessionsEnded:
    """Sign somebody out everywhere."""
    ended = await tools.db.tx(_end, caller, user_id, tools.clock.now())
    forget_sessions(tools, ended)
    return SessionsEnded(ended=len(ended))


def _sessions(connection: Connection, user_id: int, now: int) -> list[Session]:
    return sessions_of(connection, get_user(connection, user_id).id, now)


def _end(connection: Connection, caller: Caller, user_id: int, now: int) -> list[str]:
    user = get_user(connection, user_id)
    ended = end_sessions(connection, user.id)
    record(connection, caller.actor, Deed("session.end_all", "user", str(user.id), after={"ended": len(ended)}), now)
    return ended
