"""Fuzzing of whatever reads what strangers, other versions or a damaged disk have written.

A ``Target`` is a reader with the inputs it is fed and the refusals it may answer with. Anything else that escapes, an
input that takes longer than the target's bound of processor time, or memory that grows without end is a finding.

* ``target`` — what a target is, and how one input is examined.
* ``mutations`` — strategies: noise, and valid inputs with something wrong in them.
* ``schedules``, ``wire``, ``channels``, ``lines``, ``logs``, ``journals``, ``settings`` — the targets.
* ``api`` — not one of them: a whole coordinator, asked by everybody for what its OpenAPI document allows and forbids.
* ``test_fuzz`` — the short form, the same inputs each time.
* ``__main__`` — the long form, new inputs each time: ``make fuzz``.
"""
