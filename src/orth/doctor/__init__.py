"""``orth doctor``: what usually goes wrong, looked at in one go, each with a verdict and the next step.

A *check* is a name, the subjects it looks at (addresses, folders, names; from the settings) and a function that looks
at one of them and gives verdicts. Looking changes nothing: no file is made, nobody registers, no message is sent. Every
subject has a thread of its own and a few seconds; what takes longer, or fails in a way nobody thought of, is a verdict
too. Secrets known here are taken out of every verdict before anybody sees it.

* ``verdicts`` — what is said: ok, warn or bad; what was seen; what to do
* ``case`` — what is looked at: settings, clock, credentials
* ``asking`` — one HTTP request, and why there was no answer
* ``choices`` — settings, and channels that fit the store
* ``answering`` — coordinators and the registry: who answers there, and which services it lists
* ``tokens``, ``origins``, ``clocks`` — what a coordinator that answers says to our credentials, pages and clock
* ``names``, ``ports``, ``listeners`` — names that resolve; ports that are free, or who has them
* ``certificates``, ``validity`` — TLS, as far as it is configured
* ``databases``, ``redis_server`` — the servers behind
* ``package`` — other distributions that have our name
* ``machine`` — open files, disk, time zones
* ``examining`` — all checks by name, and running them
"""

from orth.doctor.case import Case
from orth.doctor.examining import CHECKS, examine
from orth.doctor.verdicts import State, Verdict

__all__ = ["CHECKS", "Case", "State", "Verdict", "examine"]
