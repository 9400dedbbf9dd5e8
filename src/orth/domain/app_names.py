"""Which app names a group can have.

An executor may register under any name that can be stored: it may be of another make, and turning it away would only
hide it. A group is made by people, and its name stands in addresses, commands and settings.
"""

SHORTEST = 4
LONGEST = 64
RENAME = "Give its executors another app name: executor.app_name, or xxl.job.executor.appname in xxl-job."
"""What to do about executors whose name no group can have."""


def trouble_with(app_name: str) -> str:
    """What keeps a group from having this name; empty when nothing does."""
    if not all(c.isascii() and (c.isalnum() or c in "-_.") for c in app_name):
        return "it may have letters, digits, dots, hyphens and underscores only"
    if not SHORTEST <= len(app_name) <= LONGEST:
        return f"it must have {SHORTEST} to {LONGEST} characters and has {len(app_name)}"
    return ""
