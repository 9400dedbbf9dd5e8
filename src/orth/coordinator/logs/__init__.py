"""Logs, as people read them: by line, from their end, by what they say, and as they grow.

The text is on the executor that wrote it; after the end it may also be in the archive of the coordinators. Everything
here works in pages of lines, so that a log of any size passes through in bounded memory.

* ``pages`` (pure) — lines with their numbers
* ``blocks`` (pure) — the form of an archived log: compressed pages that can be found by line
* ``archives`` — archived logs, in the database or in files; ``copies``, logs while they are written there
* ``reading`` — a page of a log, from wherever it is
* ``searching`` — the lines that say something; ``expressions`` carries out regular expressions in a process of their
  own, ``expression_process``, because nothing else can stop one that takes for ever
* ``fetches`` — logs on their way to the archive, each for itself
* ``following`` — lines as they are written: one reader for each execution, whoever watches

A watcher asks for the next line it has not seen. What the reader has just read is kept for a moment for all of them;
one that falls behind reads the pages in between by itself, at its own pace, and delays nobody.

What executors and callers say may be anything. Pages are checked where they are read, whatever takes long has a bound,
and the trouble one log makes is that log's.
"""
