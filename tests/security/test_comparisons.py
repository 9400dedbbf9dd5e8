"""A03: what is secret is compared in constant time.

Timing over a network shows nothing in a test that could not also be noise, so the code itself is looked at: where
something that is called a token, digest, signature or the like is compared with ``==``, the comparison is told.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import orth

SOURCE = Path(orth.__file__).parent
SECRET = re.compile(r"(^|_)(token|secret|digest|mac|signature|password|csrf|hash)s?$", re.IGNORECASE)
PUBLIC = {"domain/audit_chain.py", "executor/admission.py", "coordinator/triggering.py"}
"""Where digests are of what the one who asks may read anyway: entries of the audit, code, requests that come again."""


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_stripped(node: ast.expr) -> bool:
    """A value beside itself without blanks: whether it has any."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "strip"


def comparisons(text: str) -> Iterator[tuple[int, str]]:
    """Lines where two values are compared of which one is secret by its name, and neither is written there."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and any(isinstance(one, ast.Eq | ast.NotEq) for one in node.ops):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Constant) or _is_stripped(side) for side in sides):
                continue
            found = [name for side in sides if SECRET.search(name := name_of(side))]
            if found:
                yield node.lineno, found[0]


def test_no_secret_is_compared_byte_by_byte() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if str(path.relative_to(SOURCE)) not in PUBLIC
        # The database finds rows by the digest of a token, which tells nothing of the token.
        and path.parent.name != "store"
        for line, name in comparisons(path.read_text())
    ]
    assert found == []


def test_the_guard_sees_what_it_should() -> None:
    assert list(comparisons("if shown == self.access_token: pass")) == [(1, "access_token")]
    assert list(comparisons("ok = request.mac != computed")) == [(1, "mac")]
    assert list(comparisons("if token == '': pass\nif name == other: pass")) == []
