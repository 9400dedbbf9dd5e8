import { describe, expect, it } from 'vitest';
import { elapsed, stampFormat } from '@/parts/log/stamps';

const AT = Date.parse('2026-01-30T10:00:00.123Z');

describe('the time of a line', () => {
  it('is shown as it was chosen, in the zone that was chosen', () => {
    expect(stampFormat('seconds', null, 'en', 'Europe/Paris')?.(AT)).toBe('11:00:00');
    expect(stampFormat('full', null, 'fr', 'UTC')?.(AT)).toContain('10:00:00,123');
    expect(stampFormat('relative', AT - 61_500, 'en', 'UTC')?.(AT)).toBe('+01:01.500');
    expect(stampFormat('off', null, 'en', 'UTC')).toBeUndefined();
  });

  it('counts hours only when there are some, and back', () => {
    expect([elapsed(3_723_004), elapsed(0), elapsed(-1_500)]).toEqual(['+1:02:03.004', '+00:00.000', '−00:01.500']);
  });
});
