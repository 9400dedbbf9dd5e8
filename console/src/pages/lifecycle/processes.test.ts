import { describe, expect, it } from 'vitest';
import { lookOf, stateOf, wishesFor } from '@/pages/lifecycle/processes';
import { SERVICE_LOOKS } from '@/pages/lifecycle/statuses';

describe('a process of orth up', () => {
  it('is asked only for what makes sense', () => {
    expect(wishesFor('Running')).toEqual(['stop', 'restart']);
    expect(wishesFor('Stopped')).toEqual(['start']);
    expect(wishesFor('Stopping')).toEqual([]);
  });

  it('that is busy has a colour of its own, the same as among the services', () => {
    expect(lookOf('Busy').colour).toBe(SERVICE_LOOKS.Busy.colour);
    expect(lookOf('Busy').colour).not.toBe(lookOf('Idle').colour);
  });

  it('of a newer version may be asked for everything', () => {
    expect(stateOf('toString')).toBeNull();
    expect(wishesFor('Dreaming')).toEqual(['start', 'stop', 'restart']);
    expect(lookOf(null).colour).toBe('gray');
  });
});
