"""Taking over the definitions of another scheduler.

From an xxl-job database (2.x and 3.x, and its fork that is also called Orth) or a JSON export come groups, jobs, the
sources of scripts and the names of users; never passwords. In the order of the files:

1. ``exports`` brings every shape to one: rows with the names of the columns of xxl-job.
2. ``fields`` and ``mapping`` (pure) turn a row into a definition of ours, or say why that cannot be. What had to be
   changed on the way is a note.
3. ``families`` (pure) finds for each job its children and its super task under their new ids, and leaves out what
   would be a circle. It also says whose relations are others here.
4. ``storing`` writes everything in one transaction, or nothing; ``jobs`` is its part that writes jobs, and ``edits``
   reads from the audit log what users have edited in a job.
5. ``report`` tells what became of each thing; ``xxl_job`` is the way through all of them.

**Again.** An import may be repeated. A job is known again by its definition, so one that is already there is left
alone; one that differs from its namesake there is reported and left alone too, and so is a group with another list of
manual addresses: what somebody has changed since is worth more than what the export says. A further import repairs what
an earlier import took over wrongly, except what users have edited since (``edits``): the time zone unless they have
edited the schedule, the times of a script unless they have saved the script, children and super task unless they have
edited anything.

**Nothing fires by surprise.** Jobs arrive stopped. Those that ran go on only when asked for, and never those whose
schedule means something else here.
"""
