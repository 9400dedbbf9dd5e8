"""From a due job to a sent request, and from a result to its consequences.

The walk of an execution on this side of the network, in the order of the files:

1. ``due`` claims jobs whose time has come and asks ``planning`` (pure) what to do about each missed or due fire.
Executions, the ledger of
   decisions and the advanced schedule are one leader transaction: a fire is planned once, or not at all.
2. ``triggering`` is the one door in. Whatever the cause, an execution begins there as a row; nobody else inserts one.
   A broadcast is one row per address, and ``broadcasts`` knows when the last of them has ended. ``batches`` opens a
   span of a schedule, a few fires at a time. ``references`` says what a job and a trigger may refer to.
3. ``routing`` (pure) chooses an address. 4. ``dispatch`` takes opened executions, writes down whom each will be sent
to, sends, and stores the answer. Inside it, ``claiming`` addresses a batch in one transaction, ``choosing`` asks
   executors where the strategy wants that, ``posting`` has a queue and a circuit ``breaker`` for each of them,
   ``sending`` is the exchange itself, and ``settling`` draws the conclusions: yes, no, elsewhere, or later. An answer
   that is lost makes the execution *unknown*, never failed: ``unknowns`` then asks the same process again, under the
   same id, until it knows or the bound has passed. ``gone`` sends again what a process held until its time and took
   with it when it died. ``why`` (pure) tells the story of an execution from what all of them wrote down.
   An execution whose job has a queue is sent to nobody: ``offering`` puts it into the queue, ``queueing`` finds out
   what was lost there or with those who took it (``queue_evidence`` decides, ``workers`` is who they are), and
   ``owned_events`` hears, on the coordinator that owns it, what its executor says, with ``log_keeping`` for its log and
   ``ended_logs`` for what is missing of it after the end. ``calling_off`` withdraws late what ended in a queue while
   the channels were away. ``queues`` joins all of them.

… the network, the executor, the network …

9. ``callbacks`` takes a batch of results and answers, after the commit, what became of each. 10. ``finishing`` is the
one door out. Whatever the end, it happens there, by compare-and-set; only the winner draws the consequences that
    ``aftermath`` (pure) names, in the same transaction. The only way back is from here to ``triggering``.
    ``killing`` ends what somebody no longer wants: the row first, then its executor is told.

``registry`` keeps the list of executors honest and ``roster`` what is known of it in memory; ``probing`` finds out on
every node who can be reached, and ``reach`` holds that opinion for routing. ``metrics`` counts what all of them tell.
``statistics`` adds up how executions ended, and ``purging`` removes what is older than it need be.
``node`` builds everything once and is the only file with wiring, ``http`` is the outside.

**When a neighbour dies.** The database is the only memory: a coordinator killed at any line leaves rows from which
the next one goes on (each step between two commits has a failpoint and a test). An executor that dies leaves its
execution *pending* until its end is reported or it is declared lost. With the database away nothing is planned or
answered; executors keep their results until it is back.
"""
