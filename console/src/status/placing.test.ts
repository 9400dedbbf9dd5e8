import { expect, it } from 'vitest';
import { type Box, placeFor, placements } from '@/status/placing';

const PADDING = 12;

/** What is taken of the window, at most, in its own coordinates. */
function taken(tag: Box, room: { width: number; height: number }) {
  const place = placeFor(tag, room);
  const { offset = [0, 0] as const, points = [] } = placements(place)[place.side] ?? {};
  const height = place.height + 2 * PADDING;
  const left = tag.left + offset[0];
  const top = points[0] === 'tl' ? tag.bottom + offset[1] : tag.top + offset[1] - height;
  return { left, top, right: left + place.width + 2 * PADDING, bottom: top + height };
}

it('is wholly in the window, wherever the tag is and however small the window', () => {
  for (const room of [
    { width: 1366, height: 768 },
    { width: 1280, height: 720 },
    { width: 390, height: 844 },
    { width: 844, height: 390 },
    { width: 320, height: 256 },
  ]) {
    for (let top = -300; top < room.height + 300; top += 17) {
      for (let left = 0; left < room.width; left += 13) {
        const box = taken({ left, top, bottom: top + 22 }, room);
        expect(Math.min(box.left, box.top), `${left} ${top} in ${room.width}`).toBeGreaterThanOrEqual(0);
        expect([box.right <= room.width, box.bottom <= room.height], `${left} ${top} in ${room.width}`).toEqual([
          true,
          true,
        ]);
      }
    }
  }
});

it('is beside the tag where there is room, below it before above it', () => {
  const room = { width: 1366, height: 768 };
  const sides = [100, 300, 400, 700].map((top) => placeFor({ left: 100, top, bottom: top + 22 }, room).side);
  expect(sides).toEqual(['bottomLeft', 'bottomLeft', 'topLeft', 'topLeft']);
  const low = placeFor({ left: 100, top: 600, bottom: 622 }, room);
  expect([low.shift, low.height]).toEqual([[0, 0], 560]);
});
