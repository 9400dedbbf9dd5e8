"""How coordinators and queue executors wake and tell each other.

Channels carry copies and hints; the database is the only memory. Every message may be lost, repeated or late at any
moment, Redis may come back empty, and the work is still finished by sweeps over the database. So a consumer acts by
compare-and-set and a producer sends again what nobody has answered for.

Three kinds, because the messages have three needs:

* a **queue** has competing consumers: each message goes to one of them, is theirs until they say that it is done, and
  goes to another when the consumer is *known* to be gone. Idleness alone proves nothing, so the caller says who is.
* a **topic** reaches everybody who listens at that moment, and nobody else.
* a **box** is what somebody has to say about one execution, in order. It is kept until it is removed, so whoever
  becomes the owner reads it from where the last one stopped. Boxes announce that there is news; nobody polls them.

``names`` has the public names, ``interface`` the contract, ``limits`` how much fits. ``memory`` serves one process,
``database`` goes through the store, ``redis`` through Redis Streams, and ``remote`` through a coordinator for executors
that have neither; ``local_first`` goes over from the first of them to the second. ``opening`` knows which.
``tests/channels`` holds them all to the same. What is in the messages is in ``orth.wire.channel_messages``.
"""
