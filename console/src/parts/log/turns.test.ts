import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Problem } from '@/api/problem';
import { inTurn } from '@/parts/log/turns';

const refusal = (code: string) =>
  new Problem({ type: 'urn:orth:problem:too-busy', title: 'Too busy', status: 429, detail: 'Full.', code });

function asking(...refusals: Error[]) {
  return vi.fn(async () => {
    const refused = refusals.shift();
    if (refused) throw refused;
    return 'found';
  });
}

describe('a search where there is no room', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('is asked again until there is', async () => {
    const ask = asking(refusal('own_searches_full'), refusal('own_searches_full'), refusal('searches_full'));
    const found = inTurn(ask, new AbortController().signal);
    await vi.runAllTimersAsync();
    expect(await found).toBe('found');
    expect(ask).toHaveBeenCalledTimes(4);
  });

  it('says so in the end, and says at once what else is wrong', async () => {
    const full = inTurn(asking(...Array.from({ length: 50 }, () => refusal('own_searches_full'))), AbortSignal.any([]));
    const told = expect(full).rejects.toMatchObject({ code: 'own_searches_full' });
    await vi.runAllTimersAsync();
    await told;
    const wrong = asking(refusal('not_a_regular_expression'));
    await expect(inTurn(wrong, AbortSignal.any([]))).rejects.toMatchObject({ code: 'not_a_regular_expression' });
    expect(wrong).toHaveBeenCalledTimes(1);
  });

  it('waits no longer than somebody wants it', async () => {
    const stopping = new AbortController();
    const ask = asking(refusal('own_searches_full'));
    const told = expect(inTurn(ask, stopping.signal)).rejects.toMatchObject({ name: 'AbortError' });
    await vi.advanceTimersByTimeAsync(1);
    stopping.abort();
    await told;
    expect(ask).toHaveBeenCalledTimes(1);
  });
});
