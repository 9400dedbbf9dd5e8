"""The executor: from a received trigger to a delivered result.

The walk, room by room; a later room may use an earlier one, never the other way round.

``server`` [5] takes the request: the token is compared in constant time, the body read up to its limit, the message
understood in any dialect. ``admission`` [6] decides, under the one lock that also guards the job threads: known
already, not ours, no room, no such handler, blocked, or taken. *Taken* means queued and that exactly one result will
follow; *refused* means that nothing was queued and none will. ``job_thread`` [7] is the one thread of a job; it takes
triggers from its queue in order. ``running`` [8] carries one out: parameters from text to arguments (``parameters``),
the context a handler sees (``context``), what it logs and prints to its own file (``run_logs``, ``capture``), its time
limit (``time_limits``), the call itself (``handlers``, ``performers``), and out of everything a handler may do, one
result. ``outbox`` [8b] puts the result on the disk (``journal``), then sends it until a coordinator has answered for
it. Beside the walk, ``heartbeat`` tells the coordinators that this process is here, and which.

``runtime`` builds the rooms once, without sockets; ``process`` adds the port and the signals; ``app`` is what job
authors see of all this. ``facts`` lists what is told on the way.

What happens when something dies:

* *The process, killed at any point.* Results on the disk are delivered by its successor, at least once; the
  coordinator stores each once. What was queued or running is gone, and the successor says so: it has another
  incarnation and refuses what is repeated to the old one, so nothing runs twice by accident.
* *Every coordinator.* Work goes on. Results wait on the disk up to the outbox's cap, then work is refused, loudly.
* *An answer to a trigger, lost.* The coordinator asks again; the trigger is recognised by its id and not run again.
* *The disk.* A result that cannot be recorded is sent from memory, and no work is taken until the disk recovers. A log
  that cannot be written does not fail its execution.
* *A handler that never returns.* Python cannot end a thread. With a time limit its execution ends as 502 and its thread
  is left behind, cancelled, counted and shown; without one it holds its job's thread, and only that.

Threads: one event loop serves HTTP and the loops; each active job has a thread; limited executions have a second one;
calls to coordinators and reads of logs borrow threads of the pool. Handlers never run on the serving loop.
"""
