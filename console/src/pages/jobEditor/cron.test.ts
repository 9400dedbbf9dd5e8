import { describe, expect, it } from 'vitest';
import { changedTo, EVERY, type Plan, read, STEPS, timeIn, timeText, write } from '@/pages/jobEditor/cron';

describe('a cron expression that can be clicked together', () => {
  it.each<[string, Plan]>([
    ['0 */5 * * * ?', { every: 'minutes', step: 5 }],
    ['0 0/5 * * * ?', { every: 'minutes', step: 5 }],
    ['* * * * *', { every: 'minutes', step: 1 }],
    ['0 30 * * * ?', { every: 'hour', minute: 30 }],
    ['0 30 2 * * ?', { every: 'day', hour: 2, minute: 30 }],
    ['30 2 * * *', { every: 'day', hour: 2, minute: 30 }],
    ['0 0 9 ? * MON-FRI', { every: 'week', days: [1, 2, 3, 4, 5], hour: 9, minute: 0 }],
    ['0 0 9 ? * 2,1', { every: 'week', days: [1, 7], hour: 9, minute: 0 }],
    ['0 9 * * 1-5', { every: 'week', days: [1, 2, 3, 4, 5], hour: 9, minute: 0 }],
    ['0 9 * * 0', { every: 'week', days: [7], hour: 9, minute: 0 }],
    ['@daily', { every: 'day', hour: 0, minute: 0 }],
    [' @Weekly ', { every: 'week', days: [7], hour: 0, minute: 0 }],
    ['0 0 6 1 * ?', { every: 'month', day: 1, hour: 6, minute: 0 }],
    ['0 0 6 L * ?', { every: 'month', day: 'L', hour: 6, minute: 0 }],
  ])('%s is read', (text, plan) => {
    expect(read(text)).toEqual(plan);
  });

  it.each([
    '',
    'every day',
    '@yearly',
    '@reboot',
    '*/10 * * * * ?',
    '0 0 2 * 1 ?',
    '0 0 2 1 * MON',
    '0 0 2,14 * * ?',
    '0 */7 * * * ?',
    '0 0 2 ? * FRI-MON',
    '0 0 2 ? * MON#2',
    '0 0 25 * * ?',
    '0 0 2 * * ? 2027',
    '0 */5 * 3 * ?',
  ])('"%s" stays text', (text) => {
    expect(read(text)).toBeNull();
  });

  it('is read as it was written', () => {
    const plans: Plan[] = [
      ...STEPS.map((step) => ({ every: 'minutes' as const, step })),
      { every: 'hour', minute: 59 },
      { every: 'day', hour: 0, minute: 0 },
      { every: 'week', days: [2, 7], hour: 23, minute: 5 },
      { every: 'month', day: 31, hour: 1, minute: 1 },
      { every: 'month', day: 'L', hour: 1, minute: 1 },
    ];
    for (const plan of plans) expect(read(write(plan))).toEqual(plan);
  });

  it('keeps the time of day when another rhythm is chosen', () => {
    const daily = { every: 'day', hour: 7, minute: 45 } as const;
    expect(changedTo('month', daily)).toEqual({ every: 'month', day: 1, hour: 7, minute: 45 });
    for (const every of EVERY) expect(read(write(changedTo(every, null)))?.every).toBe(every);
  });
});

it.each([
  ['07:05', '07:05'],
  ['7:05', '07:05'],
  ['7h05', '07:05'],
  ['23.59', '23:59'],
  ['24:00', null],
  ['7:5', null],
  ['7', null],
  ['07:60', null],
  ['', null],
])('"%s" is the time %s', (text, time) => {
  const read = timeIn(text);
  expect(read && timeText(read)).toBe(time);
});
