"""``orth up``: a whole cluster on this machine, for the first five minutes and for developing.

What it starts are real processes on loopback that speak real HTTP, the same commands one would run by hand: the
registry, then coordinators and the console, then executors, each when those it waits for are ready. Then it creates a
job for every handler that suggests a schedule and is not used by a job yet, so that something happens.

In a terminal one sees a table of the processes and their merged lines, and has keys to restart, stop, drain and kill
them. In a pipe the lines come one by one behind the name of their process. A process that crashes is started again
after a growing pause. Ctrl+C stops all in reverse order, each in good order; a second Ctrl+C ends them at once. No
process outlives the one that keeps them, however that ends; with ``--detach`` that one is in the background, and ``orth
ps``, ``orth logs`` and ``orth down`` reach it through a socket in the data folder.

* ``app_host`` — the topology in code (``AppHost``)
* ``topologies`` — the same from the settings, and what each process is told
* ``resources`` — one process to start, ports, who waits for whom (pure)
* ``certificates`` — an authority for development, and what it vouches for
* ``processes`` — one child process: its lines, its end
* ``keeping`` — which processes are up, and which are started again
* ``looking`` — what the API says about them
* ``snapshot`` — all of that at one moment, as data
* ``lines`` — the lines of all processes: shown, kept, read again
* ``viewing`` — what keys do (pure); ``drawing`` — what is on the screen (pure); ``screen`` — the terminal
* ``front`` — the three together
* ``place`` — the folder: who runs there; ``control`` — the socket in it
* ``first_jobs`` — groups and jobs, made through the API; ``demo`` — the jobs of the demo
* ``hosting`` — the order of one run; ``up`` — from the command to it, in the foreground, in the background, attached
"""

from orth.apphost.app_host import AppHost

__all__ = ["AppHost"]
