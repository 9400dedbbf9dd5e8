// Why an execution is where it is, in the language of the console: made from the codes and facts the API gives. What
// has no code here, because the coordinator is newer than the page, is told in the coordinator's own words.

import type { TFunction } from 'i18next';
import type { Why, WhyStep } from '@/api/types';
import type texts from '@/i18n/locales/en/why.json';

type Causes = keyof typeof texts.cause;
type Reasons = keyof typeof texts.reason;
type About = keyof typeof texts.about;
type Endings = keyof typeof texts.end;

/** What the coordinator says of an end of which nobody said anything. */
const NO_WORDS = 'It ended.';

/** How sentences are made: the texts, whether there is one, and instants as the person reads them. */
export interface Speech {
  t: TFunction<['why']>;
  knows: (key: string) => boolean;
  at: (instant: string) => string;
  /** A route strategy by the name it has where one chooses it. */
  strategy: (code: string) => string;
}

interface Told {
  text: string;
  /** What somebody else said of it, as it was said. */
  words: string | null;
}

/** The last line of the story. */
export function summary(why: Why, speech: Speech): Told {
  const { t } = speech;
  if (why.phase !== 'ended') return { text: waiting(why, speech), words: null };
  if (why.status === 'success') return { text: t('why:endedWell'), words: null };
  const reason = about(why, speech) ?? meaning(why.reason_code, speech);
  if (reason) return { text: reason, words: why.words };
  return { text: why.words ?? (why.reason_code ? why.summary : t('why:silent')), words: null };
}

/** What to expect, or to do. */
export function following(why: Why, speech: Speech): string {
  if (!speech.knows(`next.${why.next_code}`)) return why.next;
  const { at, until, count, ...facts } = why.next_facts;
  return speech.t(`why:next.${why.next_code}`, {
    ...facts,
    count: Number(count ?? 0),
    at: typeof at === 'string' ? speech.at(at) : '',
    until: typeof until === 'string' ? speech.at(until) : '',
  });
}

/** One thing that happened in the story `why` is. */
export function step(one: WhyStep, why: Pick<Why, 'reason_code' | 'words'>, speech: Speech): Told {
  if (speech.knows(`cause.${one.code}`)) return { text: origin(one, speech), words: null };
  const text = passed(one, speech);
  if (text !== null) return { text, words: null };
  if (speech.knows(`end.${one.code}`))
    return { text: speech.t(`why:end.${one.code as Endings}`), words: one.text === NO_WORDS ? null : one.text };
  const reason = meaning(one.code, speech);
  if (reason && one.code === why.reason_code && why.words === null) return { text: reason, words: null };
  return reason ? { text: reason, words: one.text === reason ? null : one.text } : { text: one.text, words: null };
}

/** What an execution waits for has a reason as well as a next step. */
function waiting(why: Why, speech: Speech): string {
  const next = following(why, speech);
  const explained = why.next_code === 'left_alone' || why.next_code === 'looked_at_again';
  const reason = explained ? meaning(why.reason_code, speech) : null;
  return reason && next !== why.next ? `${reason} ${next}` : next;
}

/** The reason with what it is about, where that is known. */
function about({ reason_code: code, reason_facts: facts }: Why, { t, knows }: Speech): string | null {
  if (!code || Object.keys(facts).length === 0 || !knows(`about.${code}`)) return null;
  return t(`why:about.${code as About}`, { app: facts.app, selector: facts.selector });
}

function meaning(code: string | null, { t, knows }: Speech): string | null {
  return code && knows(`reason.${code}`) ? t(`why:reason.${code as Reasons}`) : null;
}

function origin({ code, facts }: WhyStep, { t, at }: Speech): string {
  const more = [
    facts.attempt !== undefined && t('why:origin.attempt', { attempt: facts.attempt, after: facts.after }),
    facts.test !== undefined && t('why:origin.test'),
    facts.again !== undefined && t('why:origin.again', { again: facts.again }),
    facts.batch !== undefined && t('why:origin.batch', { batch: facts.batch }),
    typeof facts.for === 'string' && t('why:origin.for', { at: at(facts.for) }),
  ];
  return sentence(t(`why:cause.${code as Causes}`), more);
}

function passed({ code, facts }: WhyStep, { t, at, strategy }: Speech): string | null {
  switch (code) {
    case 'fire_run':
      return facts.reason === undefined ? t('why:step.fire_run') : t('why:step.fire_late');
    case 'fire_skipped':
      return t('why:step.fire_skipped');
    case 'fire_coalesced':
      return t('why:step.fire_coalesced');
    case 'offered':
      return t('why:step.offered', { queue: facts.queue });
    case 'taken':
      return t('why:step.taken', { address: facts.address });
    case 'owner_stopped':
    case 'owner_lost':
    case 'owner_relieved':
    case 'owner_found':
    case 'owner_restarted':
      return t(`why:step.${code}`, { taker: facts.taker, giver: facts.giver });
    case 'left_behind':
      return t('why:step.left_behind', { address: facts.address, at: at(String(facts.at)) });
    case 'routed':
      return sentence(t('why:step.routed', { address: facts.address }), [
        facts.strategy !== undefined && t('why:step.strategy', { strategy: strategy(String(facts.strategy)) }),
        facts.among !== undefined && t('why:step.among', { count: Number(facts.among) }),
        facts.shards !== undefined && t('why:step.shard', { shard: facts.shard, shards: facts.shards }),
      ]);
    default:
      return null;
  }
}

function sentence(main: string, more: (string | false)[]): string {
  const said = more.filter((one) => one !== false);
  return said.length > 0 ? `${main} (${said.join(', ')})` : main;
}
