"""What is on the screen, as a pure function of what there is to show: exactly as many lines as the terminal has, none
wider than it.

From the top: whose console this is and where state is kept, the table, the merged lines, the keys. On a low screen the
table keeps its chosen row in sight and leaves a few lines for the log.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from orth.apphost.lines import LastLines, Line, record_of
from orth.apphost.snapshot import Row, Snapshot
from orth.apphost.viewing import HELP, View

_LEAST_LOG = 4
_MOST_HELP = 2
_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "bright_red", "bright_cyan", "bright_yellow")
_STATES = {
    "Running": ("●", "green"),
    "Idle": ("●", "green"),
    "Busy": ("●", "bright_blue"),
    "Waiting": ("○", "bright_black"),
    "Starting": ("◌", "yellow"),
    "Draining": ("◌", "yellow"),
    "Stopping": ("◌", "yellow"),
    "Stopped": ("○", "bright_black"),
    "Crashed": ("✖", "red"),
}
_LEVELS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red", "DEBUG": "bright_black"}
_LEAST_WIDTHS = (0, 20, 0, 4, 4, 0)
"""Of the columns, so that they keep their places when a state changes."""
HEAD = ("RESOURCE", "STATE", "ADDRESS", "UP", "BEAT", "LOAD")
_GAP = "  "


def frame(shown: Snapshot, view: View, lines: LastLines, width: int, height: int) -> list[Text]:
    """The whole screen."""
    top = _title(shown, width)
    foot = _foot(shown, view, width)
    room = height - len(top) - len(foot) - 2
    rows = _rows_in_sight(len(shown.rows), view.chosen, max(1, room - _LEAST_LOG))
    table = _table(shown.rows, view.chosen, rows, width)
    log = _log(shown, view, lines, width, max(0, height - len(top) - len(table) - len(foot) - 1))
    picture = [*top, *table, _rule(view, width), *log]
    picture = picture[: max(0, height - len(foot))]
    picture += [Text()] * (height - len(foot) - len(picture))
    return [_cut(line, width) for line in (*picture, *foot)][:height]


def plain_table(rows: Sequence[Row]) -> str:
    """The table without colours, for a pipe."""
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_GAP.join(map(set_cell_size, line, widths)).rstrip() for line in cells)


def colour_of(names: Sequence[str], name: str) -> str:
    """The colour of a process: by its place, so that it keeps it."""
    return _COLOURS[names.index(name) % len(_COLOURS)] if name in names else "bold"


def span(seconds: float | None) -> str:
    """A span for a narrow column."""
    if seconds is None:
        return "–"
    whole = int(seconds)
    if whole < 120:
        return f"{whole}s"
    return f"{whole // 60}m" if whole < 7200 else f"{whole // 3600}h" if whole < 172_800 else f"{whole // 86_400}d"


def _title(shown: Snapshot, width: int) -> list[Text]:
    kept = "kept between runs" if shown.kept else "forgotten at the end"
    first = Text.assemble((f"  {shown.name} {shown.version}", "bold"), "   console ", (shown.console, "underline"))
    if shown.phase != "running":
        first.append(f"   {shown.phase} …", "yellow")
    return [_cut(first, width), Text(f"  state in {shown.folder} ({kept})", "bright_black"), Text()]


def _rows_in_sight(count: int, chosen: int, room: int) -> range:
    """Which rows are shown when there is room for ``room``: the chosen one among them."""
    if count <= room:
        return range(count)
    first = min(max(0, chosen - room // 2), count - room)
    return range(first, first + room)


def _cells(row: Row) -> tuple[str, ...]:
    mark = "★" if row.leader else _STATES.get(row.state, ("●", ""))[0]
    again = f"  ↻{row.restarts}" if row.restarts else ""
    detail = f"  {row.detail}" if row.detail else ""
    return row.name, f"{mark} {row.state}{detail}{again}", row.address, span(row.up), span(row.beat), row.load


def _table(rows: Sequence[Row], chosen: int, sight: range, width: int) -> list[Text]:
    cells = [HEAD, *(_cells(row) for row in rows)]
    needed = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    widths = _fitted(list(map(max, needed, _LEAST_WIDTHS)), width - 2)
    found = [Text("  " + _joined(HEAD, widths), "bold")]
    for number in sight:
        row = rows[number]
        line = Text(("▸ " if number == chosen else "  ") + _joined(_cells(row), widths))
        begin = 2 + widths[0] + len(_GAP)
        style = "bold yellow" if row.leader else _STATES.get(row.state, ("", ""))[1]
        line.stylize(style, begin, begin + widths[1])
        line.stylize(colour_of([one.name for one in rows], row.name), 2, 2 + widths[0])
        if number == chosen:
            line.stylize("reverse", 0, 2 + widths[0])
        found.append(line)
    return found


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Widths that fit: the load gives way first, then the state, then the address."""
    found = list(widths)
    for column, least in ((5, 8), (1, 12), (2, 9), (0, 8)):
        excess = sum(found) + len(_GAP) * (len(found) - 1) - room
        found[column] -= max(0, min(excess, found[column] - least))
    return found


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(set_cell_size(_shortened(cell, width), width) for cell, width in zip(cells, widths, strict=True))


def _shortened(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…"


def _rule(view: View, width: int) -> Text:
    title = f" logs of {view.only} " if view.only else " logs "
    if view.filter and not view.typing:
        title += f"with “{view.filter}” "
    return Text("──" + title + "─" * max(0, width - cell_len(title) - 2), "bright_black")


def _log(shown: Snapshot, view: View, lines: LastLines, width: int, height: int) -> list[Text]:
    """The newest lines that are looked at, folded, the last at the bottom."""
    names = [row.name for row in shown.rows]
    prefix = max(map(cell_len, (*names, "up")), default=2)
    found: list[Text] = []
    for line in _looked_at(lines, view):
        found[:0] = _folded(line, names, prefix, width)
        if len(found) >= height:
            break
    return found[-height:] if height else []


def _looked_at(lines: LastLines, view: View) -> Iterable[Line]:
    """The newest first."""
    fresh = islice(reversed(lines), max(0, lines.count - view.cleared_at))
    wanted = view.filter.casefold()
    for line in fresh:
        if view.only in (None, line.name) and (not wanted or wanted in line.plain().casefold()):
            yield line


def _folded(line: Line, names: Sequence[str], prefix: int, width: int) -> list[Text]:
    """One line on as many as it needs, the text beside the name."""
    said = record_of(line.text)
    room = max(8, width - prefix - 3)
    text = f"{said.time} {said.text}".strip() if said.level in ("", "INFO") else f"{said.time} {said.level} {said.text}"
    found: list[Text] = []
    for part in _parts(text, room):
        name = "" if found else line.name
        colour = colour_of(names, line.name)
        style = _LEVELS.get(said.level, "")
        found.append(Text.assemble((set_cell_size(name, prefix), colour), (" │ ", colour), (part, style)))
    return found


def _parts(text: str, width: int) -> list[str]:
    found: list[str] = []
    part, used = "", 0
    for char in text:
        size = cell_len(char)
        if used + size > width:
            found.append(part)
            part, used = "", 0
        part, used = part + char, used + size
    return [*found, part]


def _foot(shown: Snapshot, view: View, width: int) -> list[Text]:
    if view.typing:
        return [Text(f"  filter: {view.filter}▏  Enter keeps it, Esc drops it", "bold")]
    if shown.phase == "stopping":
        return [Text("  stopping in good order; Ctrl+C stops at once", "bold yellow")]
    if view.notice:
        return [Text(f"  {view.notice}", "bold yellow")]
    lines = [Text("  ")]
    for key, what in HELP:
        item = Text.assemble((key, "bold"), f" {what}  ")
        if lines[-1].cell_len + item.cell_len - 2 > width:
            lines.append(Text("  "))
        lines[-1].append_text(item)
    return lines[:_MOST_HELP]


def _cut(line: Text, width: int) -> Text:
    if line.cell_len <= width:
        return line
    copy = line.copy()
    copy.truncate(max(0, width), overflow="ellipsis")
    return copy
