"""Tests, one package per package of ``orth``."""
