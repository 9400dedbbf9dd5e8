"""Compiling GLUE, here or in a process of its own.

The compiler keeps every other thread of its process from running. That is nothing for a usual source; a megabyte takes
seconds, in which this executor would answer nobody. So a large source is compiled by running this very file as a
program, which imports nothing of Orth and sends back the code as Python stores it.
"""

import ast
import marshal
import subprocess
import sys
from types import CodeType

COMPILED_HERE = 16 * 1024
"""Characters of a source that are compiled in this process: some milliseconds."""
LONGEST = 60.0
"""Seconds within which another process must have compiled a source."""

_ENTRY = "execute"
_Def = ast.FunctionDef | ast.AsyncFunctionDef


class Unfit(ValueError):
    """The source is not a program, or defines nothing to execute; the text says where."""


def compiled(text: str, name: str) -> tuple[CodeType, str]:
    """The code, and the name of what it defines to be executed."""
    if len(text) <= COMPILED_HERE:
        return _compiled(text, name)
    ran = _in_other_process(text, name)
    if ran.returncode != 0:
        raise Unfit(f"the compiler ended with exit value {ran.returncode}")
    code, entry, complaint = marshal.loads(ran.stdout)  # noqa: S302  # written by this file
    if complaint:
        raise Unfit(complaint)
    return code, entry


def _in_other_process(text: str, name: str) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(  # noqa: S603  # our own file
            [sys.executable, "-I", "-S", __file__, name],
            input=text.encode("utf-8", "surrogatepass"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unfit(f"it takes longer than {LONGEST:g} s to compile") from None
    except OSError as error:
        raise Unfit(f"no process to compile it can be started: {error}") from None


def _compiled(text: str, name: str) -> tuple[CodeType, str]:
    try:
        tree = ast.parse(text, name)
        return compile(tree, name, "exec", dont_inherit=True), _entry_of(tree)
    except SyntaxError as error:
        raise Unfit(f"line {error.lineno}, column {error.offset}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unfit(str(error) or "it is nested too deeply") from None


def _entry_of(tree: ast.Module) -> str:
    """The name of the function ``execute``, or of the one class that has such a method."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and any(map(_is_entry, node.body))]
    if any(map(_is_entry, tree.body)):
        return _ENTRY
    if len(classes) != 1:
        found = "nothing" if not classes else " and ".join(node.name for node in classes)
        raise Unfit(f"it must define execute(ctx, …) or one class with such a method; it defines {found}")
    return classes[0].name


def _is_entry(node: ast.stmt) -> bool:
    return isinstance(node, _Def) and node.name == _ENTRY


def main() -> None:
    text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    answer: tuple[CodeType | None, str, str]
    try:
        answer = (*_compiled(text, sys.argv[1]), "")
    except Unfit as unfit:
        answer = (None, "", str(unfit))
    sys.stdout.buffer.write(marshal.dumps(answer))


if __name__ == "__main__":
    main()
