"""What somebody chose for the console: zone, language, theme, saved views. It follows them from browser to browser.

A page is told of it with its session (``auth``); here it says what was chosen. The names and values are the console's
own; the server sees to it that they are few and short.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from orth.coordinator.http.auth import signed_in_caller
from orth.coordinator.http.callers import CallerHere, needs
from orth.coordinator.http.tools import ToolsHere
from orth.errors import Invalid
from orth.store.database import Connection
from orth.store.preferences import change_preferences, written

router = APIRouter(prefix="/api/v1/auth/preferences", tags=["auth"], dependencies=[needs(None)])

MOST = 40
"""Names."""
LONGEST = 32 * 1024
"""Bytes of all that one user has chosen, as JSON."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9]{0,39}$")]


class Choices(BaseModel):
    model_config = ConfigDict(extra="forbid")

    chosen: dict[Name, JsonValue] = Field(max_length=MOST, description="By name; null forgets what was chosen before.")


class ChosenShown(BaseModel):
    chosen: dict[str, JsonValue]


@router.patch("")
async def choose(body: Choices, tools: ToolsHere, caller: CallerHere) -> ChosenShown:
    """Keep what one has chosen. What is not named stays as it is."""
    own = await signed_in_caller(tools, caller)
    return ChosenShown(chosen=await tools.db.tx(_choose, own.user.id, body.chosen, tools.clock.now()))


def _choose(connection: Connection, user_id: int, changes: dict[str, Any], now: int) -> dict[str, Any]:
    chosen = change_preferences(connection, user_id, changes, now)
    if len(chosen) > MOST or len(written(chosen).encode()) > LONGEST:
        raise Invalid.of("preferences_too_many", field="chosen", limit=LONGEST // 1024)
    return chosen
