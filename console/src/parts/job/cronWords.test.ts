import { describe, expect, it } from 'vitest';
import { evenly, loadCronWords } from '@/parts/job/cronWords';

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

  it('say that something is every so often only where it is so across the hour, the day and the month', async () => {
    const say = await loadCronWords('en');
    expect(say('0 */45 * * * ?')).toBe('At 0 and 45 minutes past the hour');
    expect(say('*/45 * * * *')).toBe('At 0 and 45 minutes past the hour');
    expect(say('0 0 */9 * * ?')).toBe('At 00:00, 09:00 and 18:00');
    expect(say('0 */15 * * * ?')).toBe('Every 15 minutes');
    expect(say('0 0 */8 * * ?')).toBe('On the hour, every 8 hours');
    expect(say('0 0 2 */2 * ?')).toContain('between day 1 and 31 of the month');
    expect(say('0 */45,10 * * * ?')).toBe('At 0, 10, and 45 minutes past the hour');
    expect(say('0 0-59/45 * * * ?')).toBe('At 0 and 45 minutes past the hour');
    expect(say('0 0-59/15 * * * ?')).toContain('Every 15 minutes');
    expect(say('0 0 2 ? * */2')).toBe('At 02:00, only on Sunday, Tuesday, Thursday, and Saturday');
    expect(say('0 2 * * */2')).toBe('At 02:00, only on Sunday, Tuesday, Thursday, and Saturday');
    expect(say('0 0 2 ? * MON-FRI/2')).toBe('At 02:00, only on Monday, Wednesday, and Friday');
    expect(say('0 0 9-17/2 * * ?')).toContain('every 2 hours, between 09:00 and 17:00');
  });

  it('are those of the same fires', () => {
    expect(evenly('0 */45 * * * ?')).toBe('0 0,45 * * * ?');
    expect(evenly('0 5/20 * * * ?')).toBe('0 5/20 * * * ?');
    expect(evenly('0 5/25 * * * ?')).toBe('0 5,30,55 * * * ?');
    expect(evenly('0 30/15 * * * ?')).toBe('0 30,45 * * * ?');
    expect(evenly('0 20/10 * * * ?')).toBe('0 20-59/10 * * * ?');
    expect(evenly('0 0 0 ? */5 MON')).toBe('0 0 0 ? 1,6,11 MON');
    expect(evenly('0 99/7 * * * ?')).toBeNull();
    expect(evenly('0 0 2 ? * FRI-MON/2')).toBeNull();
    expect(evenly('0 10-50/45 * * * ?')).toBe('0 10 * * * ?');
    expect(evenly('0 0 2 ? * 6/2')).toBe('0 0 2 ? * 6');
    expect(evenly('0 0 2 ? * 2#1')).toBe('0 0 2 ? * 2#1');
    expect(evenly('0 0 2 L,*/5 * ?'), 'no words rather than wrong ones').toBeNull();
  });

  it('are there for every name that the server takes', async () => {
    const say = await loadCronWords('en');
    const words = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@Midnight', '@hourly'].map(say);
    expect(words).toEqual([
      'At 00:00, on day 1 of the month, only in January',
      'At 00:00, on day 1 of the month, only in January',
      'At 00:00, on day 1 of the month',
      'At 00:00, only on Sunday',
      'At 00:00',
      'At 00:00',
      'Every hour',
    ]);
    expect(say('@reboot')).toBeNull();
  });

  it('say "or" where a day fits either field, and "and" where it has to fit both', async () => {
    const [en, fr, zh] = await Promise.all([loadCronWords('en'), loadCronWords('fr'), loadCronWords('zh-CN')]);
    const told = (text: string) => [en(text), fr(text), zh(text)];
    expect(told('0 12 13 * FRI')).toEqual([
      'At 12:00, on day 13 of the month, or on Friday',
      'À 12:00, le 13 du mois, ou le vendredi',
      '在12:00, 限每月 13 号, 或者星期五',
    ]);
    expect(told('0 12 */2 * MON')).toEqual([
      'At 12:00, every 2 days in a month, between day 1 and 31 of the month, and only on Monday',
      'À 12:00, tous les 2 jours, du 1 au 31 du mois, et uniquement le lundi',
      '在12:00, 每隔 2 天, 限每月的  1 号 至  31 号 之间, 且仅限星期一',
    ]);
    expect(en('30 2 1,15 6 MON-FRI')).toBe(
      'At 02:30, on day 1 and 15 of the month, or Monday through Friday, only in June',
    );
    expect(en('0 12 13 * */2')).toMatch(/13 of the month, and only on Sunday/);
    expect(en('0 12 L * FRI#3')).toBe('At 12:00, on the last day of the month, or on the third Friday of the month');
    expect(en('*/5 * 13 * 5')).toBe('Every 5 minutes, on day 13 of the month, or on Friday');
    expect(en('0 12 */1 * FRI')).toBe('At 12:00, only on Friday');
  });

  it('say the second and the minute as people do', async () => {
    const [fr, zh] = await Promise.all([loadCronWords('fr'), loadCronWords('zh-CN')]);
    const told = (text: string) => [zh(text), fr(text)];
    expect(told('15 * * * * ?')).toEqual(['每分钟第 15 秒', 'À la seconde 15 de chaque minute']);
    expect(told('15,30 * * * * ?')).toEqual(['每分钟第 15 和 30 秒', 'Aux secondes 15 et 30 de chaque minute']);
    expect(told('10-20 * * * * ?')).toEqual(['每分钟第 10 到 20 秒', 'Aux secondes 10 à 20 de chaque minute']);
    expect(told('5/10 * * * * ?')).toEqual([
      '每隔 10 秒, 从每分钟第 5 秒开始',
      'Toutes les 10 secondes, à partir de la seconde 5 de chaque minute',
    ]);
    expect(told('15 * 3 * * ?')).toEqual([
      '每分钟第 15 秒, 在 03:00 和 03:59 之间',
      'À la seconde 15 de chaque minute, de 03:00 à 03:59',
    ]);
    expect(told('15 */5 * * * ?')).toEqual(['第 15 秒, 每隔 5 分钟', 'À la seconde 15, toutes les 5 minutes']);
    expect(told('5 0 * * * ?')).toEqual(['第 5 秒, 整点', "À la seconde 5, à l'heure pile"]);
    expect(told('15 30 8-18 * * ?')).toEqual([
      '每小时第 30 分钟的第 15 秒, 在 08:00 和 18:59 之间',
      'À la seconde 15, à la minute 30 de chaque heure, de 08:00 à 18:59',
    ]);
    expect(told('15 0-10 * * * ?')).toEqual([
      '每小时第 0 到 10 分钟的第 15 秒',
      'À la seconde 15, aux minutes 0 à 10 de chaque heure',
    ]);
    expect(told('0 10,20 * * * ?')).toEqual(['每小时第 10 和 20 分钟', 'Aux minutes 10 et 20 de chaque heure']);
    expect(told('0 15/20 * * * ?')).toEqual([
      '每隔 20 分钟, 从每小时第 15 分钟开始',
      'Toutes les 20 minutes, à partir de la minute 15 de chaque heure',
    ]);
    expect(told('30 13 * FRI')).toEqual([null, null]);
    expect(told('30 12 13 * FRI')).toEqual([
      '在12:30, 限每月 13 号, 或者星期五',
      'À 12:30, le 13 du mois, ou le vendredi',
    ]);
    expect(told('30 * 13 * FRI')).toEqual([
      '每小时第 30 分钟, 限每月 13 号, 或者星期五',
      'À la minute 30 de chaque heure, le 13 du mois, ou le vendredi',
    ]);
  });

  it('are none for what the server refuses', async () => {
    const say = await loadCronWords('en');
    const refused = ['0 0/90 * * * ?', '0 0 8 * * *', '0 0 8 ? * ?', '0 0 8 1 * MON', '0 8 ? * *', '0 */24 * * ?'];
    expect([...refused, '*/60 * * * *', '0 0 2 */32 * ?', '0 0 2 ? */13 *'].map(say)).toEqual(Array(9).fill(null));
  });

  it('are none for what is none', async () => {
    const say = await loadCronWords('en');
    expect(say('every day')).toBeNull();
    expect(say('0 99 2 * * ?')).toBeNull();
    expect(say('')).toBeNull();
  });
});
