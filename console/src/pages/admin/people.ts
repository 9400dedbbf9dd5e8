import type { User } from '@/pages/admin/queries';

/** The one who alone may let people in, of all there are; null where several may. */
export function lastAdministrator(all: readonly User[]): User | null {
  const [one, other] = all.filter(({ role, disabled }) => role === 'admin' && !disabled);
  return one && !other ? one : null;
}
