"""A request says only what its route understands.

A parameter that is misspelt would be one that was never given, and what it was to narrow down is then everything:
``bulk/kill?status=pending&jobid=7&dryrun=true`` would end the work of all jobs. So what a route does not know is
refused, a parameter that can be given once is not given twice, and a body is not sent where none is read.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_origin

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request

from orth.errors import Invalid, quotable

_NO_BODY = (b"", b"{}", b"null")
_SHOWN = 60
_KEPT = "_orth_parameters"


async def check_understood(request: Request) -> None:
    """Refuse what the route of this request does not know."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = _parameters(route)
    for name in request.query_params:
        if name not in known:
            raise _unknown(name, list(known))
        if not known[name] and len(request.query_params.getlist(name)) > 1:
            raise Invalid.of("given_twice", name=name, field=name)
    if route.body_field is None and (await request.body()).strip() not in _NO_BODY:
        raise Invalid.of("no_body_but_parameters", names=", ".join(known)) if known else Invalid.of("no_body_here")


def _unknown(name: str, known: list[str]) -> Invalid:
    near = get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    told, field = quotable(name, _SHOWN), name[:_SHOWN]
    if not known:
        return Invalid.of("no_parameter_at_all", name=told, field=field)
    if not near:
        return Invalid.of("no_parameter", name=told, names=", ".join(known), field=field)
    return Invalid.of("no_parameter_like", name=told, near=near[0], names=", ".join(known), field=field)


def _parameters(route: APIRoute) -> dict[str, bool]:
    """The names of what may follow the question mark, and whether each may be given several times. Looked up once:
    routes do not change.
    """
    known: dict[str, bool] | None = vars(route).get(_KEPT)
    if known is None:
        known = vars(route)[_KEPT] = _declared(route.dependant)
    return known


def _declared(dependant: Dependant) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for field in _fields(dependant):
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= {one.alias or name: _takes_many(one.annotation) for name, one in kind.model_fields.items()}
        else:
            found[field.alias] = _takes_many(kind)
    return found


def _fields(dependant: Dependant) -> Iterator[Any]:
    yield from dependant.query_params
    for one in dependant.dependencies:
        yield from _fields(one)


def _takes_many(kind: Any) -> bool:
    return get_origin(kind) in (list, tuple, set, frozenset) or any(
        get_origin(one) in (list, tuple, set, frozenset) for one in getattr(kind, "__args__", ())
    )
