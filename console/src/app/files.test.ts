import { expect, it, vi } from 'vitest';
import { isLostFile, once, watchFiles } from '@/app/files';

it('knows an error of a file that could not be fetched from others', () => {
  watchFiles();
  const payload = new TypeError('Failed to fetch dynamically imported module');
  window.dispatchEvent(Object.assign(new Event('vite:preloadError'), { payload }));
  expect(isLostFile(payload)).toBe(true);
  expect(isLostFile(new TypeError('x is not a function'))).toBe(false);
  expect(isLostFile('Failed to fetch')).toBe(false);
});

it('does once what worked, and again what did not', async () => {
  const load = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new Error('away')).mockResolvedValue('here');
  const loaded = once(load);
  await expect(loaded()).rejects.toThrow('away');
  expect([await loaded(), await loaded(), load.mock.calls.length]).toEqual(['here', 'here', 2]);
});
