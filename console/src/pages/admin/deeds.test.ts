import { expect, it } from 'vitest';
import english from '@/i18n/locales/en/admin.json';
import { deedOf } from '@/pages/admin/deeds';

it('finds the words of every action that has some, and none for others', () => {
  expect(deedOf('job.trigger')).toBe('job_trigger');
  expect(deedOf('session.end_all')).toBe('session_end_all');
  expect(deedOf('job.teleport')).toBeNull();
  for (const name of Object.keys(english.audit.did)) expect(deedOf(name.replace('_', '.')), name).toBe(name);
});
