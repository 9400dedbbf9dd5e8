"""What people chose for the console. What the choices mean only the console knows; here they have names and a size."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from orth.store.access_tables import user_preferences
from orth.store.engines import insert_new
from orth.store.tables import users
from orth.store.users import hold_user

Chosen = dict[str, Any]


def preferences_of(connection: Connection, username: str) -> Chosen:
    """What that user has chosen; nothing if they never did."""
    found = select(user_preferences.c.chosen).join(users, users.c.id == user_preferences.c.user_id)
    return _read(connection.execute(found.where(users.c.username == username)).scalar())


def change_preferences(connection: Connection, user_id: int, changes: Mapping[str, Any], now: int) -> Chosen:
    """Write ``changes`` over what was chosen before, and forget what is None in them; all that is chosen then.

    Only what is named changes, so that two browsers do not undo each other's choices.
    """
    hold_user(connection, user_id)  # so that nothing is kept for somebody who is removed just now
    insert_new(connection, user_preferences, [{"user_id": user_id, "chosen": "{}", "update_time": now}])
    own = user_preferences.c.user_id == user_id
    stored = connection.execute(select(user_preferences.c.chosen).where(own)).scalar()
    merged = {**_read(stored), **changes}
    chosen = {name: value for name, value in merged.items() if value is not None}
    connection.execute(update(user_preferences).where(own).values(chosen=written(chosen), update_time=now))
    return chosen


def written(chosen: Chosen) -> str:
    """Choices as they are stored."""
    return json.dumps(chosen, ensure_ascii=False, separators=(",", ":"))


def _read(stored: str | None) -> Chosen:
    found = json.loads(stored) if stored else {}
    return found if isinstance(found, dict) else {}
