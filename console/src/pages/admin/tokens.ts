import type { Token } from '@/pages/admin/queries';

export type TokenState = 'good' | 'rotating' | 'expired' | 'revoked';

type Dated = Pick<Token, 'revoked_at' | 'expires_at' | 'secrets'>;

/** What a token is worth at an instant. It rotates while the secret it had before is good as well. */
export function stateOf(token: Dated, now: number): TokenState {
  if (token.revoked_at !== null) return 'revoked';
  if (token.expires_at !== null && token.expires_at <= now) return 'expired';
  return token.secrets.some((one) => one.valid_until !== null && one.valid_until > now) ? 'rotating' : 'good';
}

export function isOver(token: Dated, now: number): boolean {
  return ['revoked', 'expired'].includes(stateOf(token, now));
}
