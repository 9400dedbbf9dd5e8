// A message that is too long comes with its middle left out, and a note there that says how much that was.

const NOTE = /\n… (\d{1,12}) characters left out; the log has them all …\n/g;

export interface Cut {
  /** Characters of it that are here. */
  shown: number;
  /** As many as there were. */
  total: number;
}

/** How much of a message is left; null of one that is whole. */
export function cutOf(message: string): Cut | null {
  const notes = [...message.matchAll(NOTE)];
  if (notes.length === 0) return null;
  // As the server counts: a character beyond the first plane is one.
  const shown = notes.reduce((length, note) => length - note[0].length, [...message].length);
  return { shown, total: notes.reduce((length, note) => length + Number(note[1]), shown) };
}
