import { describe, expect, it } from 'vitest';
import { allows, allowsSomewhere, type Rights } from '@/api/session';

const operatorOfSeven: Rights = { everywhere: null, inGroups: { 7: 'operator' } };

describe('rights', () => {
  it('of a role in one group hold in that group only', () => {
    expect(allows(operatorOfSeven, 'operate', 7)).toBe(true);
    expect(allows(operatorOfSeven, 'edit', 7)).toBe(false);
    expect(allows(operatorOfSeven, 'view', 8)).toBe(false);
    expect(allows(operatorOfSeven, 'view')).toBe(false);
    expect(allowsSomewhere(operatorOfSeven, 'operate')).toBe(true);
    expect(allowsSomewhere(operatorOfSeven, 'administer')).toBe(false);
  });

  it('of an administrator hold for everything', () => {
    expect(allows({ everywhere: 'admin', inGroups: {} }, 'administer')).toBe(true);
    expect(allows({ everywhere: 'viewer', inGroups: { 7: 'editor' } }, 'script', 7)).toBe(true);
  });
});
