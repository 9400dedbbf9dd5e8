"""The program that compiles GLUE: what runs in the process that ``compiling`` starts.

How much time and memory a source takes to compile does not follow from its length: a few hundred characters of nested
``finally`` take minutes and gigabytes. And the compiler keeps every other thread of its process from running. So no
source is compiled in the executor. This file is run as a program; it imports nothing of Orth, takes one source after
another from descriptor 0, and sends back each as the code that Python stores, or says why it cannot be used.

Before each source the process limits itself to the memory and the processor time that the request allows. It ends with
the executor, even in the middle of a source: the kernel signals it when the pipe closes whose other end the executor
has, which no code of ours has to notice.
"""

import ast
import fcntl
import marshal
import math
import os
import resource
import select
import signal
import struct
import sys
from contextlib import suppress
from types import CodeType

REQUEST = struct.Struct("!IIdQQ")
"""Bytes of the name and of the text that follow, seconds of processor time, bytes of memory, bytes of the answer."""
ANSWER = struct.Struct("!Q")
"""Bytes of the answer that follows: ``marshal`` of the code, the name of what it defines, and the complaint."""
CONVERSATION = 0

_ENTRY = "execute"
_Def = ast.FunctionDef | ast.AsyncFunctionDef
_Answer = tuple[CodeType | None, str, str]


class Unfit(ValueError):
    """The source is not a program, or defines nothing to execute; the text says where."""


def compiled(text: str, name: str) -> tuple[CodeType, str]:
    """The code, and the name of what it defines to be executed."""
    try:
        tree = ast.parse(text, name)
        return compile(tree, name, "exec", dont_inherit=True), _entry_of(tree)
    except SyntaxError as error:
        raise Unfit(f"line {error.lineno}, column {error.offset}: {error.msg}") from None
    except MemoryError as error:  # also the parser's word for a nesting that is too deep
        raise Unfit(str(error) or "it is nested too deeply, or takes too much memory to compile") from None
    except (ValueError, RecursionError) as error:
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


def _answer(text: str, name: str, longest: int) -> bytes:
    answer: _Answer
    try:
        answer = (*compiled(text, name), "")
        made = marshal.dumps(answer)
        if len(made) <= longest:
            return made
        answer = (None, "", f"it becomes {len(made)} bytes of code, more than the {longest} that its length allows")
    except (Unfit, ValueError, MemoryError) as unfit:  # code may also be nested too deeply to be stored
        answer = (None, "", str(unfit) or "it takes too much memory to compile")
    return marshal.dumps(answer)


def _limit(kind: int, most: int) -> None:
    """Of this process; never beyond what it may have, and nothing where the system has no such limit."""
    _, hard = resource.getrlimit(kind)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (wanted, hard))


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _end_with(sign: int) -> None:
    """Let the kernel end this process, wherever it is, when the other end of the pipe ``sign`` is closed."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(sign, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sign, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(sign, select.POLLIN)
    if poll.poll(0):  # it was closed before
        sys.exit()


def _received(count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        part = os.read(CONVERSATION, count - len(received))
        if not part:
            sys.exit()  # the executor has hung up
        received += part
    return bytes(received)


def _send(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(CONVERSATION, left) :]


def main() -> None:
    _end_with(int(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        name_size, text_size, seconds, memory, longest = REQUEST.unpack(_received(REQUEST.size))
        name, text = (_received(size).decode("utf-8", "surrogatepass") for size in (name_size, text_size))
        _limit(resource.RLIMIT_CPU, math.ceil(_processor_time() + seconds))
        _limit(resource.RLIMIT_AS, memory)
        answer = _answer(text, name, longest)
        _send(ANSWER.pack(len(answer)) + answer)


if __name__ == "__main__":
    main()
