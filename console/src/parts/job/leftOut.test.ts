import { expect, it } from 'vitest';
import { leftOut } from '@/parts/job/leftOut';

it('says which day the calendar leaves out, in every language', () => {
  const dated = 'the calendar leaves out 2026-12-25';
  const weekly = 'the calendar leaves out Saturdays, and 2026-11-21 is one';
  expect(leftOut(dated, 'fr')).toMatchObject({ by: 'day', day: '25 déc. 2026' });
  expect(leftOut(weekly, 'fr')).toMatchObject({ by: 'weekday', weekday: 'samedi', day: '21 nov. 2026' });
  expect(leftOut(weekly, 'zh-CN')).toMatchObject({ by: 'weekday', weekday: '星期六' });
});

it('leaves other words alone', () => {
  expect(leftOut('the job was paused', 'en')).toBeNull();
});
