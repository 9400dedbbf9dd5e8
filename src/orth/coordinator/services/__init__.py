"""The Registry API's own memory and duties: which services are there, and who is told of it.

``registrar`` takes what services say. ``silence`` and ``health`` find out what they do not say; ``duty`` decides which
process does that. ``feed`` hands out the events, to as many listeners as there are, and ``bell`` lets the other
processes know that there is one.

This is beside the executors' own registry, which routing goes by, and beside the membership of coordinators, which
leading and owning go by. Nothing here changes what those do.
"""
