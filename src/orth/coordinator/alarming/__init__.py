"""Alarms: from the signs that ends left to messages that somebody has received.

The leader judges the signs of each job (``judging``, by the rules of ``orth.domain.alarms``) and stores messages in the
same transaction; ``loop`` sends them. A message is claimed under a lease, sent, and marked. Whoever dies in between
leaves a lease that runs out, and the message is sent again: each is delivered at least once, and carries the same id
every time so that its receiver can tell.

* ``texts`` — what a message says, and in which words
* ``templates`` — that as JSON of the shape a receiver wants
* ``definitions`` — what a channel may be, and which parts of it are never shown again
* ``outbound`` — which addresses may be connected to
* ``mail``, ``webhook``, ``apprise_urls`` — the three ways out; ``senders`` chooses
* ``judging``, ``loop``, ``facts`` — the duty itself and what it tells
* ``new_executors`` — messages about executors that enrolled
"""
