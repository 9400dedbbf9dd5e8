"""No route without a permission: what the application refuses to start with."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute

from orth.coordinator.http.callers import Need


class Undeclared(Exception):
    """A route that does not say what it asks of its callers: a mistake of ours, found before anybody is let in."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(
            f"These routes declare no permission: {', '.join(paths)}. Give each dependencies=[needs(…)], or name its "
            "endpoint among those that are open or ask for the credential themselves."
        )


def check_declared(routes: Sequence[BaseRoute], exempt: Collection[object]) -> None:
    """Refuse routes of which neither a dependency is a ``Need`` nor the endpoint or a dependency is ``exempt``: one of
    these very objects, whatever the path looks like.
    """
    missing = [str(route.path) for route in iter_route_contexts(routes) if not _declares(route, exempt)]
    if missing:
        raise Undeclared(missing)


def paths_of(routes: Sequence[BaseRoute], endpoints: Collection[object]) -> list[str]:
    """The paths of these endpoints, as their routes spell them."""
    found = iter_route_contexts(routes)
    return [str(route.path) for route in found if any(route.endpoint is one for one in endpoints)]


def _declares(route: Any, exempt: Collection[object]) -> bool:
    calls = [route.endpoint, *_calls(getattr(route, "dependant", None))]
    return any(isinstance(call, Need) or any(call is one for one in exempt) for call in calls)


def _calls(dependant: Dependant | None) -> Iterator[object]:
    """Everything that is called before the endpoint is."""
    for one in dependant.dependencies if dependant is not None else ():
        yield one.call
        yield from _calls(one)
