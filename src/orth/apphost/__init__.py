"""``orth up``: a whole cluster on this machine, for the first five minutes and for developing.

What it starts are real processes on loopback that speak real HTTP, the same commands one would run by hand:
coordinators first, executors once a coordinator is ready. Then it creates a job for every handler that suggests a
schedule and is not used by a job yet, so that something happens.

Lines of all processes are merged, each behind the name of its process. Ctrl+C stops executors, then coordinators,
each in good order; a second Ctrl+C ends them at once. A process that ends by itself brings the rest down and makes
the exit code non-zero: nothing runs half.

* ``resources`` — what is to be started, from the settings (pure)
* ``processes`` — one child process: its lines, its readiness, its end
* ``first_jobs`` — groups and jobs, made through the API
* ``demo`` — the jobs of the demo
* ``up`` — the order of it all
"""
