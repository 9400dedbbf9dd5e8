import { beforeEach, describe, expect, it, vi } from 'vitest';

type Module = typeof import('@/app/preferences');

/** The page as it is opened anew, with what the browser has kept. */
async function opened(): Promise<Module> {
  vi.resetModules();
  return import('@/app/preferences');
}

/** A server that keeps what it is sent. */
function server(answers: () => Promise<void> = async () => {}) {
  const stored: Record<string, unknown> = {};
  return {
    stored,
    send: vi.fn(async (chosen: Record<string, unknown>) => {
      await answers();
      Object.assign(stored, chosen);
    }),
  };
}

const settled = () => new Promise((done) => setTimeout(done));

describe('what a person chose', () => {
  beforeEach(() => localStorage.clear());

  it('is sent to the server, and taken from there in another browser', async () => {
    const { stored, send } = server();
    const here = await opened();
    here.adopt('ada', {}, send);
    here.choose('theme', 'dark');
    here.choose('density', 'small');
    await settled();
    expect(stored).toEqual({ theme: 'dark', density: 'small' });
    localStorage.clear();
    const there = await opened();
    expect(there.preference('theme')).toBe('system');
    there.adopt('ada', stored, send);
    expect(there.preference('theme')).toBe('dark');
    expect(JSON.parse(localStorage.getItem('orth.preferences') ?? '')).toMatchObject({ theme: 'dark', of: 'ada' });
  });

  it('before signing in counts, and is sent then', async () => {
    const { stored, send } = server();
    const page = await opened();
    page.choose('language', 'fr');
    await settled();
    expect(send).not.toHaveBeenCalled();
    page.adopt('ada', { language: 'en', theme: 'dark' }, send);
    await settled();
    expect([page.preference('language'), page.preference('theme')]).toEqual(['fr', 'dark']);
    expect(stored).toEqual({ language: 'fr' });
  });

  it('while the server was away is sent when the page is opened again', async () => {
    const away = server(() => Promise.reject(new Error('away')));
    const page = await opened();
    page.adopt('ada', {}, away.send);
    page.choose('zone', 'Asia/Tokyo');
    await settled();
    expect(away.stored).toEqual({});
    const { stored, send } = server();
    const again = await opened();
    again.adopt('ada', { zone: 'Europe/Paris' }, send);
    await settled();
    expect(again.preference('zone')).toBe('Asia/Tokyo');
    expect(stored).toEqual({ zone: 'Asia/Tokyo' });
  });

  it('again while the first choice is on its way is sent after it', async () => {
    let answer = () => {};
    const { stored, send } = server(() => new Promise((done) => (answer = () => done())));
    const page = await opened();
    page.adopt('ada', {}, send);
    page.choose('theme', 'dark');
    page.choose('theme', 'light');
    answer();
    await settled();
    answer();
    await settled();
    expect(stored).toEqual({ theme: 'light' });
    expect(send).toHaveBeenCalledTimes(2);
  });

  it('is not shown to who signs in next', async () => {
    const { send } = server();
    const page = await opened();
    page.adopt('ada', {}, send);
    page.choose('views', [{ page: '/jobs', name: 'secret', search: 'text=salaries' }]);
    page.choose('landing', '/jobs');
    page.choose('theme', 'dark');
    await settled();
    page.release();
    page.adopt('bob', { density: 'small' }, send);
    expect(page.preference('views')).toEqual([]);
    expect(page.preference('landing')).toBe('/');
    expect([page.preference('theme'), page.preference('density')]).toEqual(['dark', 'small']);
    expect(localStorage.getItem('orth.preferences')).not.toContain('salaries');
  });

  it.each([
    { language: 'de' },
    { language: 'constructor' },
    { theme: 'sepia' },
    { views: [null] },
    { views: 'none' },
    { logWrap: 'yes' },
    { timelineHours: '999999' },
    { __proto__: { theme: 'dark' } },
    { tomorrow: 1 },
  ])('in a form that this version does not know is left alone: %j', async (strange) => {
    const usual = await opened();
    const names = ['theme', 'language', 'views', 'logWrap', 'timelineHours'] as const;
    const before = names.map((name) => usual.preference(name));
    usual.adopt('ada', { ...strange, density: 'small' }, server().send);
    expect(names.map((name) => usual.preference(name))).toEqual(before);
    expect(usual.preference('density')).toBe('small');
    localStorage.setItem('orth.preferences', JSON.stringify({ ...strange, unsent: ['tomorrow', 'theme'] }));
    const again = await opened();
    expect(names.map((name) => again.preference(name))).toEqual(before);
  });
});
