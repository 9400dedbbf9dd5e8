import { describe, expect, it } from 'vitest';
import { chosen, isKept } from '@/pages/settings/chosen';

const settings = [
  { key: 'logs.retention', value: '30d', explanation: 'How long they are kept.', origin: 'default' },
  { key: 'store.url', value: 'sqlite:///orth.db', explanation: 'The database.', origin: 'orth.toml:3' },
];

describe('settings', () => {
  it('are found by key, value or explanation, in whatever case', () => {
    expect(chosen(settings, 'RETENTION', false).map((one) => one.key)).toEqual(['logs.retention']);
    expect(chosen(settings, 'sqlite', false).map((one) => one.key)).toEqual(['store.url']);
    expect(chosen(settings, ' kept ', false).map((one) => one.key)).toEqual(['logs.retention']);
    expect(chosen(settings, '', false)).toHaveLength(2);
  });

  it('that somebody set can be shown alone', () => {
    expect(chosen(settings, '', true).map((one) => one.key)).toEqual(['store.url']);
  });

  it('that say how long something is kept are known', () => {
    expect(settings.map(isKept)).toEqual([true, false]);
    expect(isKept({ key: 'retention.executions' })).toBe(true);
  });
});
