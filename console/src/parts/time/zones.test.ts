import { expect, it } from 'vitest';
import { isZoneLike, zoneOrder } from '@/parts/time/zones';

const NAMES = ['America/New_York', 'Asia/Calcutta', 'Asia/Kolkata', 'Etc/GMT', 'Etc/UTC', 'GMT', 'UTC', 'US/Pacific'];

const found = (typed: string) =>
  NAMES.filter((name) => isZoneLike(typed, name)).sort((one, other) => zoneOrder(typed, one, other));

it.each([
  ['new york', ['America/New_York']],
  ['New_York', ['America/New_York']],
  ['america/new york', ['America/New_York']],
  ['kolkata', ['Asia/Kolkata']],
  ['Calcutta', ['Asia/Calcutta']],
  ['us pac', ['US/Pacific']],
  ['gmt', ['GMT', 'Etc/GMT']],
  ['utc', ['UTC', 'Etc/UTC']],
  ['atlantis', []],
])('finds zones by %s', (typed, names) => {
  expect(found(typed)).toEqual(names);
});
