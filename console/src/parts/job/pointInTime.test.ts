import { expect, it } from 'vitest';
import type { Language } from '@/i18n/languages';
import { pointInTime } from '@/parts/job/pointInTime';

const PARIS = 'Europe/Paris';

it.each<[string, Language, string]>([
  ['2026-11-19T21:00:58', 'fr', '19 nov. 2026, 21:00:58'],
  ['2026-11-19T21:00:58', 'en', 'Nov 19, 2026, 21:00:58'],
  ['2026-11-19T21:00:58', 'zh-CN', '2026年11月19日 21:00:58'],
  ['2026-11-19 21:00', 'en', 'Nov 19, 2026, 21:00'],
  ['2026-11-19', 'en', 'Nov 19, 2026, 00:00'],
  ['2026-11-19T20:00:00Z', 'en', 'Nov 19, 2026, 21:00'],
  ['2026-11-20t04:00:00+0800', 'en', 'Nov 19, 2026, 21:00'],
  ['2026-11-19T21:00:00.250', 'en', 'Nov 19, 2026, 21:00:00.250'],
  ['1795118458000', 'en', 'Nov 19, 2026, 21:00:58'],
  // The clock of the zone never shows it: it is told as it is written, and not another time.
  ['2026-03-29T02:30', 'en', 'Mar 29, 2026, 02:30'],
])('says %s in %s as people write it', (conf, language, words) => {
  expect(pointInTime(conf, PARIS, language)).toBe(words);
});

it.each(['', 'soon', '2026-13-01T00:00', '2026-02-30T00:00', '2026-11-19T25:00', '2026-11-19T21:00:58 Europe/Paris'])(
  'has no words for %s',
  (conf) => {
    expect(pointInTime(conf, PARIS, 'en')).toBeNull();
  },
);

it('has none either in a zone that the browser does not know, unless the text is local', () => {
  expect(pointInTime('2026-11-19T20:00Z', 'Mars/Olympus', 'en')).toBeNull();
  expect(pointInTime('2026-11-19T20:00', 'Mars/Olympus', 'en')).toBe('Nov 19, 2026, 20:00');
});
