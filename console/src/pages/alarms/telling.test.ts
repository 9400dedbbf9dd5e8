import { describe, expect, it } from 'vitest';
import type { Failing } from '@/pages/alarms/queries';
import { maySilence, whyUntold } from '@/pages/alarms/telling';

const AT = '2026-01-30T10:00:00.000Z';
const waiting = { channel: 'ops', state: 'waiting', attempts: 2, next_attempt: AT, error: 'no paper' } as const;
const failing: Failing = {
  job_id: 16,
  job_desc: 'Weigh',
  job_group: 1,
  execution_id: 7,
  since: AT,
  told_at: null,
  failures: 3,
  channels: ['ops'],
  silenced: false,
  messages: [],
};

describe('why nobody was told', () => {
  it('is that there is no channel, a silence, or that it is too early', () => {
    expect(whyUntold({ ...failing, channels: [] })).toBe('noChannel');
    expect(whyUntold({ ...failing, silenced: true })).toBe('silenced');
    expect(whyUntold(failing)).toBe('notTold');
  });

  it('is said by the message where there is one, and by nobody where somebody was told', () => {
    expect(whyUntold({ ...failing, messages: [waiting] })).toBeNull();
    expect(whyUntold({ ...failing, told_at: AT, channels: [] })).toBeNull();
  });
});

describe('who may silence a job', () => {
  const rights = { everywhere: null, inGroups: { '1': 'operator', '2': 'viewer' } } as const;

  it('is who operates its group, and not who operates another one', () => {
    expect(maySilence(rights, { job_group: 1 })).toBe(true);
    expect(maySilence(rights, { job_group: 2 })).toBe(false);
    expect(maySilence(rights, { job_group: null })).toBe(false);
  });

  it('is for anything at all who operates something', () => {
    expect(maySilence(rights)).toBe(true);
    expect(maySilence({ everywhere: 'viewer', inGroups: {} })).toBe(false);
  });
});
