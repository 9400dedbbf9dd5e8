"""``orth`` commands as real processes that begin loaded.

To load a coordinator takes two seconds of processor time, and tests start hundreds. So each pytest process has a
companion that has loaded all of Orth, and one that has loaded what an executor needs. Every command is a child forked
from one of them, with arguments, environment, folder, network and output of its own. From ``orth.cli.main`` on it is
what ``python -m orth`` is: it listens, is signalled, killed and collected like any other process. Only its command line
in the process table is the companion's.

* ``companion`` is the program that loads and forks.
* ``starting`` starts it, and commands through it.
* ``networks`` puts a command on a host of its own.

What is about loading itself, about command lines, or about an interpreter started in a special way starts ``python -m
orth`` as it is: ``tests/walk/test_up.py``, ``tests/cli/test_frame.py`` and ``tests/executor/test_process.py``.
"""
