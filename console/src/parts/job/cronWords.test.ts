import { describe, expect, it } from 'vitest';
import { loadCronWords } from '@/parts/job/cronWords';

describe('cron expressions in words', () => {
  it('count weekdays as their dialect does', async () => {
    const say = await loadCronWords('en');
    expect(say('0 0 9 ? * 2')).toContain('Monday');
    expect(say('0 9 * * 2')).toContain('Tuesday');
  });

  it('are in the language of the page', async () => {
    expect((await loadCronWords('fr'))('0 30 2 * * ?')).toContain('02:30');
    expect((await loadCronWords('fr'))('0 */5 * * * ?')).toMatch(/^Toutes les 5 minutes/);
    expect((await loadCronWords('zh-CN'))('0 */5 * * * ?')).toContain('5');
    expect((await loadCronWords('zh-CN'))('0 */5 * * * ?')).not.toMatch(/[a-z]/i);
  });

  it('are none for what is none', async () => {
    const say = await loadCronWords('en');
    expect(say('every day')).toBeNull();
    expect(say('0 99 2 * * ?')).toBeNull();
    expect(say('')).toBeNull();
  });
});
