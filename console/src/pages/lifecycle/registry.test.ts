import { describe, expect, it } from 'vitest';
import { BEATS, FEED_KEPT, heard, listed, NOTHING, type Registry, rowsOf, type Said } from '@/pages/lifecycle/registry';
import { gradeOf } from '@/parts/time/staleness';

const NOW = 1_000_000;
const AT = '2026-03-01T12:00:10.000Z';

function said(id: string, more: Partial<Said> = {}): Said {
  return {
    id,
    url: `http://10.0.0.1/${id}`,
    name: id,
    status: 'Running',
    registeredAt: '2026-03-01T11:00:00.000Z',
    lastHeartbeat: '2026-03-01T12:00:00.000Z',
    incarnation: null,
    failing: null,
    ...more,
  };
}

function event(seq: number, type: string, data: Said) {
  return { type, seq, at: AT, data };
}

function having(...messages: unknown[]): Registry {
  return messages.reduce<Registry>((registry, message) => heard(registry, message, NOW), NOTHING);
}

describe('the registry of the page', () => {
  it('takes in the six events', () => {
    const registry = having(
      event(1, 'orchestrator_registered', said('node-1', { status: 'Starting' })),
      event(2, 'agent_registered', said('agent-1', { status: 'Starting' })),
      event(3, 'orchestrator_status_changed', said('node-1')),
      event(4, 'agent_status_changed', said('agent-1', { status: 'Busy' })),
      event(5, 'agent_registered', said('agent-2')),
      event(6, 'agent_unregistered', said('agent-1', { status: 'Stopped' })),
      event(7, 'orchestrator_registered', said('node-2')),
      event(8, 'orchestrator_unregistered', said('node-2')),
    );
    expect(rowsOf(registry, 'orchestrator').map((one) => [one.id, one.status, one.told])).toEqual([
      ['node-1', 'Running', 3],
    ]);
    expect(rowsOf(registry, 'agent').map((one) => one.id)).toEqual(['agent-2']);
    expect(registry.feed.map((one) => one.seq)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    expect(registry.feed[1]).toMatchObject({ kind: 'orchestrator', happening: 'registered', name: 'node-2' });
  });

  it('misses no beat that came since the lists were asked for', () => {
    expect([42_000, 44_000, 69_000, 70_000].map((age) => gradeOf(age, BEATS))).toEqual([
      'fresh',
      'missed30',
      'missed30',
      'missed60',
    ]);
  });

  it('counts the age of a beat on its own clock', () => {
    const registry = having(event(1, 'agent_registered', said('agent-1')));
    expect(rowsOf(registry, 'agent')[0]?.beatAt).toBe(NOW - 10_000);
    const later = heard(registry, event(2, 'agent_status_changed', said('agent-1', { status: 'Idle' })), NOW + 5_000);
    expect(rowsOf(later, 'agent')[0]?.beatAt).toBe(NOW - 10_000);
  });

  it('is not moved by what it knows, and not by what it does not understand', () => {
    const registry = having(event(5, 'agent_registered', said('agent-1')));
    for (const message of [event(5, 'agent_unregistered', said('agent-1')), null, 'text', { type: 'beat' }]) {
      expect(heard(registry, message, NOW)).toBe(registry);
    }
    expect(heard(registry, event(6, 'rocket_registered', said('x')), NOW)).toBe(registry);
  });

  it('begins anew with a snapshot', () => {
    const registry = having(event(5, 'agent_registered', said('agent-1')), {
      type: 'snapshot',
      seq: 9,
      at: AT,
      data: { orchestrators: [said('node-1')], agents: [] },
    });
    expect(registry.seq).toBe(9);
    expect(rowsOf(registry, 'agent')).toEqual([]);
    expect(rowsOf(registry, 'orchestrator').map((one) => one.id)).toEqual(['node-1']);
  });

  it('lets a list correct ages, and an old one nothing else', () => {
    const registry = having(event(5, 'agent_registered', said('agent-1', { status: 'Busy' })));
    const old = listed(registry, 'agent', [{ ...said('agent-1'), beatAge: 2, orchestratorId: null }], 4, NOW);
    expect(rowsOf(old, 'agent').map((one) => [one.status, one.beatAt])).toEqual([['Busy', NOW - 2_000]]);
    const fresh = listed(registry, 'agent', [{ ...said('agent-2'), beatAge: 1, orchestratorId: null }], 6, NOW);
    expect(rowsOf(fresh, 'agent').map((one) => one.id)).toEqual(['agent-2']);
  });

  it('keeps a feed that does not grow without end', () => {
    const many = Array.from({ length: FEED_KEPT + 5 }, (_, n) => event(n + 1, 'agent_status_changed', said('agent-1')));
    expect(having(...many).feed).toHaveLength(FEED_KEPT);
  });
});
