// Editors of browsers know one kind of line end. Code that came with others gets them back when it is edited: whoever adds
// a line changes one line, not all of them.

const END = /\r\n|\r|\n/;

/** The text as an editor has it. */
export function edited(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

/** What was edited, with the line ends of what it was made from; new lines end as most of those do. */
export function withLineEnds(text: string, from: string): string {
  if (!from.includes('\r')) return text;
  const [lines, before] = [text.split('\n'), from.split(END)];
  const ends = from.match(new RegExp(END, 'g')) ?? [];
  const most = dominant(ends);
  let head = 0;
  while (head < Math.min(lines.length, before.length) && lines[head] === before[head]) head += 1;
  const added = lines.length - before.length;
  let tail = lines.length;
  while (tail > head && tail - added > head && lines[tail - 1] === before[tail - 1 - added]) tail -= 1;
  const endOf = (at: number) => (at < head ? ends[at] : at >= tail ? ends[at - added] : undefined) ?? most;
  return lines.map((line, at) => (at < lines.length - 1 ? line + endOf(at) : line)).join('');
}

function dominant(ends: readonly string[]): string {
  const counted = ['\n', '\r\n', '\r'].map((end) => ({ end, count: ends.filter((one) => one === end).length }));
  return counted.reduce((most, one) => (one.count > most.count ? one : most)).end;
}
