"""Orth: the scheduler you can prove."""
