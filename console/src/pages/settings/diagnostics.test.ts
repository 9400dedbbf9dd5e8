import { expect, test } from 'vitest';
import { diagnose } from '@/pages/settings/diagnostics';

test('what does not answer does not keep the rest', async () => {
  const found = await diagnose({
    stats: async () => ({ executions: 3 }),
    cluster: async () => {
      throw new Error('the database is away');
    },
  });
  expect(found).toEqual({ stats: { executions: 3 }, cluster: { not_answered: 'Error: the database is away' } });
});
