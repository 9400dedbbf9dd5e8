"""A topology in code: ``orth up examples/apphost.py``, or ``python examples/apphost.py`` beside a ``jobs.py``."""

from orth.apphost import AppHost

host = AppHost("demo")
registry = host.registry(port=5060)
coordinators = host.coordinators(2, port=5080).after(registry)
agents = host.agents(3, modules=["jobs"], port=5090).after(coordinators).env(TZ="UTC")
host.console(port=5070).after(registry)
host.run()
