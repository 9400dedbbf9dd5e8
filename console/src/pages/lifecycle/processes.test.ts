import { describe, expect, it } from 'vitest';
import { lookOf, stateOf, wishesFor } from '@/pages/lifecycle/processes';

describe('a process of orth up', () => {
  it('is asked only for what makes sense', () => {
    expect(wishesFor('Running')).toEqual(['stop', 'restart']);
    expect(wishesFor('Stopped')).toEqual(['start']);
    expect(wishesFor('Stopping')).toEqual([]);
  });

  it('of a newer version may be asked for everything', () => {
    expect(stateOf('toString')).toBeNull();
    expect(wishesFor('Dreaming')).toEqual(['start', 'stop', 'restart']);
    expect(lookOf(null).colour).toBe('gray');
  });
});
