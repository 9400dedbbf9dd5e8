import { expect, it } from 'vitest';
import { lastAdministrator } from '@/pages/admin/people';
import type { User } from '@/pages/admin/queries';

function user(username: string, role: string | null, disabled = false): User {
  return { id: 1, username, role, disabled, grants: [], created_at: '2026-01-30T10:00:00.000Z' } as unknown as User;
}

it('is the last administrator who is the only one that may sign in', () => {
  const ann = user('ann', 'admin');
  expect(lastAdministrator([ann, user('bob', 'viewer'), user('eve', 'admin', true)])).toBe(ann);
  expect(lastAdministrator([ann, user('bob', 'admin')])).toBeNull();
  expect(lastAdministrator([user('bob', 'editor')])).toBeNull();
});
