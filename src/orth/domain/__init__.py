"""The nouns every package shares, and the rules that need nothing else.

Nothing here does I/O, reads a clock or draws a random number: time and chance arrive as arguments, so every rule is
tested by calling it.

* ``jobs`` — a *job* is a definition: what to run, when, where. A *group* is the executors that share an app name.
* ``executions`` — an *execution* is one firing of a job on one executor (one per shard); its status is derived from
  two codes.
* ``nodes`` — coordinators and executors as others see them: the age of a beat, and what it means.
* ``cron``, ``schedules``, ``calendars`` — when a job is due. A *fire* is a planned instant, in UTC epoch
  milliseconds.

Words are used as in ``docs/glossary.md``, letter for letter, in code, columns, JSON and console.
"""
