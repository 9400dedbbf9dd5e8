"""The path of a request as its sender signed it."""

from starlette.types import Scope

_FROM_HERE = "/api/"


def signed_path(scope: Scope) -> str:
    """What comes after the address a caller knows, which may have a path of its own: from /api on. A query is part of
    it, though none of ours sends one.
    """
    path, query = str(scope["path"]), bytes(scope["query_string"])
    begin = max(0, path.find(_FROM_HERE))
    return path[begin:] + (f"?{query.decode('latin-1')}" if query else "")
