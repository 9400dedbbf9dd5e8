"""What crosses the network between coordinators and executors.

The protocol is the one xxl-job executors speak: small JSON messages over POST, with an envelope of code, message and
payload. It exists in several generations, and executors of all of them connect to one coordinator, unmodified; ours say
a little more. ``docs/protocol.md`` describes it for people who write the other side.

* ``messages`` — each message in one canonical form. Everybody imports this one.
* ``fields``, ``addresses`` — what a field of a message may hold, and the limits of each.
* ``strict_json`` — bytes from strangers to values, bounded in time and refused when ambiguous.
* ``reading`` — such values to messages, or to a refusal that names what is wrong.
* ``dialects`` — the generations: all are read at once, one is chosen for writing. Pure functions.
* ``coordinator_calls`` — executor to coordinators: synchronous (urllib3), first coordinator that accepts.
* ``executor_calls`` — coordinator to executor: asynchronous (aiohttp), with the difference between "surely not sent"
  and "perhaps". The only module that needs aiohttp, which an executor's environment does not have.
* ``resolver`` — host names of peers to addresses, so that a name that hangs delays no other; ``outbound`` checks them.
* ``guarded`` with ``bounded_answers`` (aiohttp), ``bounded_http`` with ``answer_reader`` (blocking) — the connections
  of every outbound call. They limit what a server may send. No call opens a connection in any other way.

Three rules shape it. Be generous in reading and exact in writing: what a foreign executor may choke on is sent only to
those that announced it. One bad item spoils nothing around it: a batch is answered item by item. And a lost answer is
not a failure: whoever dispatches must be able to tell "it has not got it" from "it may have it".

Both directions have an interface (``CoordinatorLink``, ``ExecutorLink``), so that a test can put another network, or
none, in between.
"""
