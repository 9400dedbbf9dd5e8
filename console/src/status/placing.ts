// Where what is behind a tag is shown: below it, or above where there is more room, and always wholly in the window.

export interface Box {
  left: number;
  top: number;
  bottom: number;
}

export interface Place {
  side: 'bottomLeft' | 'topLeft';
  /** How far it is moved from where that side begins, so that it stays in the window. */
  shift: readonly [x: number, y: number];
  /** How large its content may be. */
  width: number;
  height: number;
}

const MOST = { width: 520, height: 560 };
/** Around the content, inside what is shown. */
const PADDING = 12;
const GAP = 8;
const EDGE = 8;
/** With less it is not worth to be beside the tag: it may cover it. */
const LITTLE = 240;

export function placeFor(tag: Box, room: { width: number; height: number }): Place {
  const width = Math.min(MOST.width, room.width - 2 * (EDGE + PADDING));
  const left = Math.max(EDGE, Math.min(tag.left, room.width - EDGE - width - 2 * PADDING));
  const below = room.height - tag.bottom - GAP - EDGE - 2 * PADDING;
  const above = tag.top - GAP - EDGE - 2 * PADDING;
  const least = Math.min(MOST.height, Math.max(LITTLE, room.height * 0.5));
  const side = below >= Math.min(least, above) ? 'bottomLeft' : 'topLeft';
  const beside = side === 'bottomLeft' ? below : above;
  // A tag outside of the window, or a low window: from one edge to the other.
  const inWindow = tag.top >= 0 && tag.bottom <= room.height;
  if (beside >= LITTLE && inWindow) {
    return { side, shift: [left - tag.left, 0], width, height: Math.min(MOST.height, beside) };
  }
  const height = Math.min(MOST.height, room.height - 2 * (EDGE + PADDING));
  return { side: 'bottomLeft', shift: [left - tag.left, EDGE - tag.bottom - GAP], width, height };
}

/** The same for the part of the page that places it. */
export function placements({ side, shift: [x, y] }: Place) {
  const points = side === 'bottomLeft' ? ['tl', 'bl'] : ['bl', 'tl'];
  const offset: [number, number] = [x, (side === 'bottomLeft' ? GAP : -GAP) + y];
  return { [side]: { points, offset, overflow: {} } };
}
