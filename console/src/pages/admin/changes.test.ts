import { describe, expect, it } from 'vitest';
import { changesIn } from '@/pages/admin/changes';

describe('what an entry changed', () => {
  it('leaves out what stayed', () => {
    const before = { role: 'viewer', disabled: false, grants: { 1: 'editor' } };
    const after = { role: 'editor', disabled: false, grants: { 1: 'editor' } };
    expect(changesIn(before, after)).toEqual([{ field: 'role', before: 'viewer', after: 'editor' }]);
  });

  it('tells of what is new and what is gone, and null from nothing', () => {
    expect(changesIn({ a: 1 }, { b: null })).toEqual([
      { field: 'a', before: '1', after: null },
      { field: 'b', before: null, after: 'null' },
    ]);
    expect(changesIn(null, null)).toEqual([]);
  });
});
