"""Report keys: what an executor needs, beside its token, to say how an execution ended.

A token is known to every executor of its group. If it alone were enough, whoever stole it could end what runs on
others, and so start what follows. So a trigger to an executor that announces it carries a *report key* for that one
execution, and every word about it that changes something brings the key back. Only who was given the work has it.

It is made from a secret that all coordinators of a database have, so that none of them has to keep it: the execution's
id, and the instant it was triggered, for a database that was restored counts ids again.
"""

import hmac


class ReportKeys:
    """Makes and checks report keys, with the secret that coordinators share."""

    def __init__(self, secret: str) -> None:
        self._secret = hmac.digest(secret.encode(), b"orth report keys", "sha256")

    def key_of(self, execution_id: int, trigger_time: int) -> str:
        """The report key of an execution, in hex."""
        return hmac.digest(self._secret, b"%d;%d" % (execution_id, trigger_time), "sha256").hex()

    def fits(self, told: str, execution_id: int, trigger_time: int) -> bool:
        """Whether ``told`` is the key of that execution. How long it takes tells nothing."""
        return hmac.compare_digest(self.key_of(execution_id, trigger_time).encode(), told.encode("utf-8", "replace"))
