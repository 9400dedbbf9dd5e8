import i18next from 'i18next';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Why, WhyStep } from '@/api/types';
import english from '@/i18n/locales/en/why.json';
import french from '@/i18n/locales/fr/why.json';
import chinese from '@/i18n/locales/zh-CN/why.json';
import { following, type Speech, step, summary } from '@/parts/why/telling';

const texts = i18next.createInstance();

beforeAll(async () => {
  await texts.init({
    lng: 'en',
    resources: { en: { why: english }, fr: { why: french }, 'zh-CN': { why: chinese } },
    interpolation: { escapeValue: false },
  });
});

function speech(language: string): Speech {
  return {
    t: texts.getFixedT(language, 'why') as Speech['t'],
    knows: (key) => texts.exists(key, { lng: language, ns: 'why', count: 2 }),
    at: (instant) => `<${instant}>`,
    strategy: (code) => `«${code}»`,
  };
}

const FAILED: Why = {
  id: 7,
  status: 'failed',
  tag: 'Failed 200/500',
  phase: 'ended',
  reason_code: null,
  reason_facts: {},
  summary: 'ValueError: no price',
  words: 'ValueError: no price',
  steps: [],
  next: 'Nothing by itself',
  next_code: 'mend_job',
  next_facts: { execution: 7 },
};

describe('why', () => {
  it('is told by the reason, with what was said beside it', () => {
    const words = 'No executor is registered for app "demo".';
    const why = { ...FAILED, reason_code: 'no_executor', summary: words, words };
    expect(summary(why, speech('fr'))).toEqual({ text: french.reason.no_executor, words });
    expect(summary({ ...why, words: null }, speech('zh-CN'))).toEqual({
      text: chinese.reason.no_executor,
      words: null,
    });
  });

  it('has the facts of its reason in the language of the page, and no other words', () => {
    const words = 'No executor is registered for app "demo".';
    const why: Why = { ...FAILED, status: 'trigger_failed', reason_code: 'no_executor', summary: words, words: null };
    const told = summary({ ...why, reason_facts: { app: 'demo' } }, speech('fr'));
    expect(told.text).toContain('pour l’application demo');
    expect(told.words).toBeNull();
    const ending: WhyStep = { at: null, code: 'no_executor', text: words, facts: {} };
    expect(step(ending, why, speech('fr'))).toEqual({ text: french.reason.no_executor, words: null });
    expect(step(ending, { ...why, words }, speech('fr')).words).toBe(words);
  });

  it('says where a handler still works that could not be ended', () => {
    const facts = { address: 'http://a:1', at: '2026-01-30T10:10:00.000Z' };
    const why: Why = { ...FAILED, next_code: 'still_works', next_facts: { ...facts, execution: 7 } };
    const passed: WhyStep = { at: facts.at, code: 'left_behind', text: 'still works', facts };
    for (const language of ['en', 'fr', 'zh-CN']) {
      for (const told of [following(why, speech(language)), step(passed, FAILED, speech(language)).text]) {
        expect(told).toContain('http://a:1');
        expect(told).toContain(`<${facts.at}>`);
      }
    }
  });

  it('is what the job itself said where nothing else is known', () => {
    expect(summary(FAILED, speech('fr'))).toEqual({ text: 'ValueError: no price', words: null });
    expect(summary({ ...FAILED, words: null }, speech('fr')).text).toBe(french.silent);
  });

  it('of something that waits is its reason and its next step', () => {
    const until = '2026-01-30T10:10:00.000Z';
    const waits: Why = { ...FAILED, status: 'init', phase: 'opened', reason_code: 'circuit_open', words: null };
    const told = summary({ ...waits, next_code: 'left_alone', next_facts: { until } }, speech('fr')).text;
    expect(told).toBe(
      `${french.reason.circuit_open} On regarde chaque seconde si cela change ; elle échoue après <${until}>.`,
    );
  });

  it('is told in the words of a newer coordinator where the page does not know the code', () => {
    const newer = { ...FAILED, reason_code: 'struck_by_lightning', next_code: 'wait_for_rain' as Why['next_code'] };
    expect(following({ ...newer, next: 'Wait for rain.' }, speech('fr'))).toBe('Wait for rain.');
    expect(summary({ ...newer, words: null, summary: 'Lightning struck.' }, speech('fr')).text).toBe(
      'Lightning struck.',
    );
    const unknown: WhyStep = { at: null, code: 'struck_by_lightning', text: 'Lightning struck.', facts: {} };
    expect(step(unknown, FAILED, speech('fr'))).toEqual({ text: 'Lightning struck.', words: null });
  });
});

describe('a next step', () => {
  it('after a failure says what to do', () => {
    expect(following(FAILED, speech('en'))).toContain('press Retry');
    expect(following(FAILED, speech('fr'))).toContain('Relancer');
  });

  it('after a loss sends nobody to a log that went with its executor', () => {
    const lost: Why = { ...FAILED, reason_code: 'result_lost', next_code: 'mend_lost' };
    expect(following(lost, speech('en'))).not.toContain('log');
    expect(following(lost, speech('fr'))).not.toContain('journal');
    expect(following(lost, speech('zh-CN'))).not.toContain('日志');
  });

  it('of one that waits its turn names the one before it', () => {
    const waits: Why = {
      ...FAILED,
      next_code: 'waits_its_turn',
      next_facts: { address: 'http://a:1', position: 2, ahead: 9 },
    };
    expect(following(waits, speech('en'))).toContain(
      'Execution 9 of the same job is before it on http://a:1, where it is queued (place 2)',
    );
    expect(following(waits, speech('fr'))).toContain('L’exécution 9 de la même tâche passe avant elle sur http://a:1');
    expect(following(waits, speech('zh-CN'))).toContain('同一任务的执行 9 在 http://a:1 上排在它前面（它排第 2 位）');
  });

  it('counts in the language of the page', () => {
    const facts = { queue: 'q', until: '2026-01-30T10:10:00.000Z' };
    const of = (count: number) =>
      following({ ...FAILED, next_code: 'waits_in_queue', next_facts: { ...facts, count } }, speech('fr'));
    expect(of(1)).toContain('1 exécuteur se sert');
    expect(of(3)).toContain('3 exécuteurs se servent');
  });
});

describe('a step', () => {
  it('names its cause and what belongs to it', () => {
    const facts = { attempt: 2, after: '5', for: '2026-01-30T10:00:00.000Z' };
    const retried: WhyStep = { at: null, code: 'retry', text: 'An earlier attempt did not succeed', facts };
    expect(step(retried, FAILED, speech('fr')).text).toBe(
      'Une tentative précédente n’a pas réussi (tentative 2, après l’exécution 5, prévue <2026-01-30T10:00:00.000Z>)',
    );
  });

  it('of routing names address, strategy and shard', () => {
    const facts = { address: 'http://a:1', strategy: 'FAILOVER', shard: 1, shards: 3 };
    expect(step({ at: null, code: 'routed', text: '', facts }, FAILED, speech('zh-CN')).text).toBe(
      '已选择 http://a:1 (策略 «FAILOVER», 分片 1/3)',
    );
  });

  it('that ended it has a sentence, and beside it what was said', () => {
    const ended: WhyStep = { at: null, code: 'success', text: 'It ended.', facts: {} };
    expect(step(ended, FAILED, speech('fr'))).toEqual({ text: french.end.success, words: null });
    expect(step({ ...ended, text: '12 rows' }, FAILED, speech('zh-CN'))).toEqual({
      text: chinese.end.success,
      words: '12 rows',
    });
  });

  it('that was noted keeps the words of the note', () => {
    const noted: WhyStep = { at: null, code: 'unknown_answer', text: 'http://a:1: no answer within 3 s.', facts: {} };
    expect(step(noted, FAILED, speech('fr'))).toEqual({ text: french.reason.unknown_answer, words: noted.text });
  });
});
