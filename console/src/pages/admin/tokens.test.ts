import { describe, expect, it } from 'vitest';
import { isOver, stateOf } from '@/pages/admin/tokens';

const NOW = 1_000_000;
const good = { revoked_at: null, expires_at: null, secrets: [{ shown: 'orth_api_ab', valid_until: null }] };

describe('a token', () => {
  it('is good for ever when it has no end', () => {
    expect(stateOf(good, NOW)).toBe('good');
    expect(isOver(good, NOW)).toBe(false);
  });

  it('is over from the instant of its end, and when it was revoked', () => {
    expect(stateOf({ ...good, expires_at: NOW }, NOW)).toBe('expired');
    expect(stateOf({ ...good, expires_at: NOW + 1 }, NOW)).toBe('good');
    expect(stateOf({ ...good, expires_at: NOW, revoked_at: 5 }, NOW)).toBe('revoked');
    expect(isOver({ ...good, expires_at: NOW }, NOW)).toBe(true);
  });

  it('rotates while the secret before is good too', () => {
    const secrets = [...good.secrets, { shown: 'orth_api_cd', valid_until: NOW + 1 }];
    expect(stateOf({ ...good, secrets }, NOW)).toBe('rotating');
    expect(stateOf({ ...good, secrets }, NOW + 1)).toBe('good');
  });
});
