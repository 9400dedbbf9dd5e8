"""Being known to the registry, and knowing from it who else is there: the client side of the Registry API.

Coordinators register as *orchestrators*, executors as *agents*. The record is for people and for discovery: routing
goes by the executors' own heartbeats, leadership by the database, and neither asks here. So nothing in this package may
stop, delay or change the work of its process.

``presence`` is the loop that registers, beats, tells the status and says goodbye. After a moment to settle it follows
the ``ladder``: an attempt at once, then after 5, 10, 20 and 40 seconds, then every two minutes in the background while
the process works on unregistered. Three beats in a row that fail begin the ladder anew; an answer that our id is not
known begins it at once. A registry keeps the id of an address, so a process comes back as the one it was. Each way to
fail is told in its own sentence (``facts``, word for word what people search for): no connection, no answer in time,
no such endpoint, overload, refusal, an answer that cannot be read. Without a registry to ask there is one error, and no
attempt until the settings change.

``client`` speaks HTTP, ``aside`` does so beside the event loop without holding up the end of the process, and ``line``
puts a ``breaker`` in front of registering and another in front of questions: after a long row of failures the registry
is left alone for a cooldown, then one call probes. No attempt to register waits for that.

``discovery`` asks the registry which coordinators run, and gives an executor an order of its own among them.
``reloading`` takes over changed addresses without a restart. ``metrics`` counts. ``attendance`` puts the parts together
for one process, ``settings`` is what they go by.

What happens when something dies: *the registry* — beats fail, the process works on, and is back with its id within one
beat, or one attempt of the ladder if it was away for three. *This process* — the registry sees its silence after three
beats. *The network, while leaving* — the goodbye is given up after two seconds.
"""
