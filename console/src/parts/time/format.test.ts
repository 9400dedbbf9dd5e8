import { describe, expect, it, vi } from 'vitest';
import { withUnit } from '@/parts/job/ScheduleText';
import { browserZone, delay, duration, fullInstant, hasClock, instant, relative } from '@/parts/time/format';

const NOON = Date.parse('2026-03-01T12:00:00Z');

it('says no delay is shorter than can be measured', () => {
  expect([0, 0.4, 1, 8].map((ms) => delay(ms, 'en'))).toEqual(['< 1 ms', '< 1 ms', '1 ms', '8 ms']);
});

describe('the zone of the browser', () => {
  it('is asked for once, however many instants are shown', () => {
    browserZone();
    const asked = vi.spyOn(Intl, 'DateTimeFormat');
    expect(browserZone()).toBe(browserZone());
    expect(asked).not.toHaveBeenCalled();
  });
});

it('has a clock for old and new names of zones, and none for what is no zone', () => {
  const zones = ['Asia/Kolkata', 'Asia/Calcutta', 'Europe/Kyiv', 'Etc/UTC', 'US/Pacific'];
  expect(zones.map(hasClock)).toEqual(zones.map(() => true));
  expect(hasClock('Mars/Olympus_Mons')).toBe(false);
});

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [3_140, '3.1 s'],
    [59_949, '59.9 s'],
    [59_990, '1 min 00 s'],
    [65_000, '1 min 05 s'],
    [3_599_600, '1 h 00 min'],
    [7_380_000, '2 h 03 min'],
    [353_000_000, '4 d 2 h'],
  ])('of %i ms are %s', (ms, text) => {
    expect(duration(ms, 'en')).toBe(text);
  });

  it('are in the language of the reader', () => {
    const all = (language: 'fr' | 'zh-CN') => [42, 5_000, 65_000, 353_000_000].map((ms) => duration(ms, language));
    expect(all('fr')).toEqual(['42 ms', '5,0 s', '1 min 05 s', '4 j 2 h']);
    expect(all('zh-CN')).toEqual(['42 毫秒', '5.0 秒', '1 分钟 05 秒', '4 天 2 小时']);
    expect([withUnit('5m', 'en'), withUnit('5m', 'fr'), withUnit('30', 'zh-CN'), withUnit('1d', 'fr')]).toEqual([
      '5 min',
      '5 min',
      '30 秒',
      '1 j',
    ]);
  });
});

describe('ages', () => {
  it('use the largest unit that fits', () => {
    expect(relative(NOON - 12_000, NOON, 'en')).toBe('12s ago');
    expect(relative(NOON + 240_000, NOON, 'en')).toBe('in 4m');
    expect(relative(NOON - 7_200_000, NOON, 'fr')).toMatch(/^il y a 2\s?h$/);
    expect(relative(NOON + 240_000, NOON, 'fr')).toMatch(/^dans 4\s?min$/);
  });
});

it('counts days: what is 30 hours ahead may be tomorrow or the day after', () => {
  const said = (hours: number, language: 'en' | 'fr' | 'zh-CN') => relative(NOON + hours * 3_600_000, NOON, language);
  expect([said(24, 'en'), said(35, 'en'), said(36, 'en'), said(-30, 'en')]).toEqual([
    'in 1d',
    'in 1d',
    'in 2d',
    '1d ago',
  ]);
  expect([said(30, 'fr'), said(48, 'fr'), said(30, 'zh-CN')].map((one) => one.replace(/\s/g, ' '))).toEqual([
    'dans 1 j',
    'dans 2 j',
    '1天后',
  ]);
  expect(relative(NOON, NOON, 'en')).toBe('now');
});

describe('instants', () => {
  it('leave the day out when it is today, in the zone that is shown', () => {
    expect(instant(NOON, NOON + 60_000, 'en', 'UTC')).toBe('12:00:00');
    expect(instant(NOON, NOON + 43_200_000, 'en', 'UTC')).toBe('Mar 1, 12:00:00');
    expect(instant(NOON, NOON, 'en', 'Asia/Shanghai')).toBe('20:00:00');
  });

  it('say the zone in full', () => {
    expect(fullInstant(NOON, 'en', 'UTC')).toContain('UTC');
  });
});

it('makes no format twice: a list would make hundreds every second', () => {
  const texts = () => [
    instant(NOON, NOON, 'en', 'UTC'),
    fullInstant(NOON, 'en', 'UTC'),
    relative(NOON, NOON + 5_000, 'en'),
  ];
  const first = texts();
  const made = [vi.spyOn(Intl, 'DateTimeFormat'), vi.spyOn(Intl, 'RelativeTimeFormat')];
  expect(texts()).toEqual(first);
  for (const one of made) expect(one).not.toHaveBeenCalled();
});
