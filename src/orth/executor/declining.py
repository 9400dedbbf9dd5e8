"""Why an executor takes no new executions: a code for coordinators and metrics, a sentence for people."""

from dataclasses import dataclass

from orth.domain.nodes import Unavailability


@dataclass(frozen=True, slots=True)
class Declined:
    """A refusal that says nothing about the job: another executor may take it."""

    code: Unavailability
    reason: str
