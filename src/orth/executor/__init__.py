"""The executor: from a received trigger to a delivered result.

The walk, room by room; a later room may use an earlier one, never the other way round.

``server`` [5] takes the request: the token is compared in constant time, the body read up to its limit, the message
understood in any dialect. ``admission`` [6] decides, under the one lock that also guards the job threads: known
already, not ours, no room, no such handler, blocked, or taken. *Taken* means queued and that exactly one result will
follow; *refused* means that nothing was queued and none will. ``job_threads`` [7] holds every job's queue and threads;
``job_thread`` is one of them and takes triggers in order. ``running`` [8] carries one out: parameters from text to
arguments (``parameters``), the context a handler sees (``context``, ``progress``) and passes on to the threads and
processes it starts (``inheritance``, ``environment``), what it logs and prints to its own file (``run_logs``,
``log_files``, ``capture``, ``unfinished``), its time limit (``time_limits``), how it is ended from outside
(``ending``), the call itself (``handlers``, ``performers``, ``sharing``, ``loop_watch``), and out of everything a
handler may do, one result. ``outbox`` [8b] puts the result on the disk (``room``, ``recorder``, ``journal``), then
sends it (``portions``) until a coordinator has answered for it. Beside the walk, ``heartbeat`` tells the coordinators
that this process is here, which it is and what it holds; ``retention`` removes old logs; ``metrics`` counts.

``queue_transport`` is the other way in, and out: executions are taken from queues instead of arriving at the server,
pass the same admission, and are reported where their owner reads. ``queue_link`` carries results and beats,
``queue_reports`` and ``queue_logs`` what is said meanwhile, ``queue_cancels`` hears what is to end, ``queue_doubt``
asks whether offers older than an outage stand; ``channel_way`` knows how the channels are reached.

``sources`` finds the handler of a trigger: registered, built in (``commands``, ``http_calls``), or source text that
came with it (``scripts``, ``glue``; ``compiling`` and ``glue_compiler`` make code of it). What runs in processes runs
under guards: ``nursery`` is the clean helper process, ``guard`` what it forks, ``worker`` the Python process below a
guard, ``belongings`` what is put back in it; ``processes``, ``guarded_runs`` and ``isolation`` are the executor's side
of them, ``frames`` and ``output`` what passes between.

``runtime`` builds the rooms once, without sockets; ``process`` adds the port and the signals, ``embedding`` the port in
a thread of somebody else's process, ``reloading`` a process that starts it again when its source changes. ``local_run``
is the whole walk for one execution and no coordinator. ``app`` is what job authors see of all this, with their
``proposals`` and, at a terminal, ``author_commands``. ``facts`` lists what is told on the way.

What happens when something dies:

* *The process, killed at any point.* Results on the disk are delivered by its successor, at least once; the
  coordinator stores each once. What was queued or running is gone, and the successor says so: it has another
  incarnation and refuses what is repeated to the old one, so nothing runs twice by accident.
* *Every coordinator.* Work goes on. Results wait on the disk up to the outbox's cap, then work is refused, loudly.
* *An answer to a trigger, lost.* The coordinator asks again; the trigger is recognised by its id and not run again.
* *The disk.* A result that cannot be recorded is sent from memory, and no work is taken until the disk recovers. A log
  that cannot be written does not fail its execution, and says afterwards how much is missing.
* *The channels.* What runs goes on, results go over HTTP, and nothing is taken until they are back. A message that may
  have been handed out while an answer was lost is given back; one that was lost is offered again by the coordinators.
* *A handler that will not end.* A kill, a time limit, a covering trigger, another version and a stop all use the ladder
  of ``ending``: flag, performer, exception, and after ``kill_grace`` the thread is left behind, counted and shown, for
  Python cannot end a thread. A time limit reports 502 before the ladder, the others report 500 after it and say whether
  the handler ended. A job that must not overlap on any executors waits until what was left behind is gone. Other jobs
  wait until ``abandoned_hold`` has passed, and their covering triggers do not wait for it. An overlap is written into
  both logs.
* *A script, a command, a worker.* One failed execution, with the exit value or the signal. Ending one ends everything
  it has started, and all of them end with the executor, however that dies.

Threads: one event loop serves HTTP and the loops; each active job has a thread, a concurrent one up to 64; an execution
that is being ended has a second one for that long; an async object has one for its loop; one thread forces results to
the disk for all; calls to coordinators and reads of logs borrow threads of the pool. Handlers never run on the serving
loop.
"""
