"""Why a database failed, for people: the network in our words, everything else in the words of the server.

psycopg, PyMySQL and sqlite3 word a connection that is refused in three ways, PyMySQL with the ``repr`` of a tuple. What
a server answers (a wrong password, a database that does not exist) only the server knows.
"""

import re

from sqlalchemy.engine import URL

from orth.wire.network_reasons import Reason, network_finding, network_sentence

_BY_SERVER = re.compile(r".*\b(?:FATAL|ERROR|PANIC):\s+")
_NOT_YET = re.compile(r"database system is |too many (?:clients|connections)|remaining connection slots", re.IGNORECASE)
"""What servers say that start, stop or are full."""


def database_sentence(error: BaseException, url: URL) -> str:
    """Why it failed, without a full stop: ``127.0.0.1:5432 refused the connection``. Never the statement or values."""
    cause = _cause(error)
    if network_finding(cause).reason is not Reason.OTHER:
        return network_sentence(_place(url), cause)
    return _words(cause)


def is_unreachable(error: BaseException) -> bool:
    """Whether the server was not reached, or takes no connection now."""
    cause = _cause(error)
    return network_finding(cause).reason is not Reason.OTHER or _NOT_YET.search(_words(cause)) is not None


def _cause(error: BaseException) -> BaseException:
    """The driver's own error, where SQLAlchemy has wrapped it."""
    return getattr(error, "orig", None) or error


def _words(cause: BaseException) -> str:
    """The first line of what the driver says."""
    text = cause.args[1] if len(cause.args) == 2 and isinstance(cause.args[0], int) else cause  # PyMySQL: number, text
    line = next(iter(str(text).strip().splitlines()), "") or type(cause).__name__
    return _BY_SERVER.sub("", line, count=1).rstrip(".")


def _place(url: URL) -> str:
    host = url.host or url.query.get("host")
    if not isinstance(host, str):
        return "the database server"
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{url.port}" if url.port else host
