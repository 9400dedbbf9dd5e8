import { describe, expect, it } from 'vitest';
import { addressOf, haveRoom, viewsOf, without, withView } from '@/parts/views/views';

const FAILED = { page: '/executions', name: 'Failed today', search: 'status=failed&since=24h' };

describe('saved views', () => {
  it('are kept by page and name, the later one winning', () => {
    const views = withView(withView([], FAILED), { ...FAILED, search: 'status=failed' });
    expect(views).toEqual([{ ...FAILED, search: 'status=failed' }]);
    expect(viewsOf(withView(views, { ...FAILED, page: '/timeline' }), '/executions')).toHaveLength(1);
  });

  it('need a name', () => {
    expect(withView([], { ...FAILED, name: '  ' })).toEqual([]);
    expect(withView([], { ...FAILED, name: ` ${'x'.repeat(80)}` })[0]?.name).toHaveLength(60);
  });

  it('have so much room together', () => {
    const many = Array.from({ length: 200 }, (_, n) => ({ ...FAILED, name: `${n}` }));
    expect(haveRoom(many)).toBe(true);
    expect(haveRoom(many.map((one) => ({ ...one, name: '失败的执行记录'.repeat(8) })))).toBe(false); // in bytes
    expect(haveRoom([...many, { ...FAILED, search: 'x'.repeat(24_000) }])).toBe(false);
  });

  it('are removed, and lead to their page', () => {
    expect(without([FAILED, { ...FAILED, name: 'Other' }], '/executions', 'Failed today')).toHaveLength(1);
    expect(addressOf(FAILED)).toBe('/executions?status=failed&since=24h');
    expect(addressOf({ ...FAILED, search: '' })).toBe('/executions');
  });
});
