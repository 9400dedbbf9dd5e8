import { describe, expect, it } from 'vitest';
import { cutOf } from '@/status/cut';

describe('a message that was too long', () => {
  it('says how much of it is shown', () => {
    const note = '\n… 33210 characters left out; the log has them all …\n';
    const message = `${'🙂'.repeat(5_000)}${note}${'x'.repeat(10_000)}`;
    expect(cutOf(message)).toEqual({ shown: 15_000, total: 48_210 });
  });

  it('is only one where something was left out', () => {
    expect(cutOf('… 5 characters left out')).toBeNull();
    expect(cutOf('')).toBeNull();
  });
});
