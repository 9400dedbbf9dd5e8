"""Numbered migrations. Never edit one that was released; see CONTRIBUTING.md for how to add one."""
