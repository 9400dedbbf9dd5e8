import { QueryClient } from '@tanstack/react-query';
import { expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { askedFor, earlierQuery } from '@/pages/timeline/queries';

it('asks for what was opened before everything else it asks for, and ran in the span', async () => {
  const asked: Record<string, unknown>[] = [];
  vi.spyOn(api, 'GET').mockImplementation((async (_: string, { params }: { params: { query: object } }) => {
    asked.push({ ...params.query });
    const data = { items: [{ id: asked.length }], next_cursor: asked.length < 3 ? `after ${asked.length}` : null };
    return { data, response: Response.json(data) };
  }) as never);
  const found = await new QueryClient().fetchQuery(earlierQuery('6', null, 4));
  expect(asked[0]).toMatchObject({ until: askedFor('6', null, 4).since, ended_since: '360m', job_group: 4 });
  expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, 'after 1', 'after 2']);
  expect([found.items.map(({ id }) => id), found.more]).toEqual([[1, 2, 3], false]);
  const zoom = { from: Date.parse('2026-01-30T10:00:00Z'), to: Date.parse('2026-01-30T11:00:00Z') };
  await new QueryClient().fetchQuery(earlierQuery('6', zoom, undefined));
  expect(asked.at(-1)).toMatchObject({ until: '2026-01-30T09:45:00.000Z', ended_since: '2026-01-30T10:00:00.000Z' });
});
