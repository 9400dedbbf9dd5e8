import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import { type Act, type Answer, doToEach, doTogether, Keys, type Named, type Outcome } from '@/parts/many';
import { useSaying } from '@/parts/ProblemNotice';

export interface Together {
  together: (ids: number[]) => Promise<Answer>;
}

/**
 * Does something to several and tells to how many; or, thrown, what came of each where it was not done to all. Before
 * that `keep` gets those it was not done to: the next press is for them only.
 */
export function useMany(keep: (ids: number[]) => void) {
  const { t } = useTranslation('common');
  const say = useSaying();
  const keys = useRef(new Map<Act, Keys>());

  function told({ done, refused, left, stopped }: Outcome): Problem {
    const names = (those: readonly Named[]) => those.map(({ name }) => name).join(', ');
    const detail = t('many.partly', { done: done.length, left: refused.length + left.length });
    const lines = refused.map(({ name, why }) => `${name}: ${say(why).title}`);
    if (stopped) lines.push(say(stopped).title, t('many.left', { names: names(left) }));
    if (done.length > 0) lines.push(t('many.done', { names: names(done) }));
    const hint = lines.join('\n');
    return new Problem({ type: 'urn:orth:problem:conflict', title: detail, status: 409, detail, hint });
  }

  async function oneByOne(those: readonly Named[], act: Act): Promise<Outcome> {
    const known = keys.current.get(act) ?? new Keys();
    keys.current.set(act, known);
    return doToEach(those, act, known);
  }

  /** By an act for each, or by a question about all of them. */
  return async (those: readonly Named[], way: Act | Together): Promise<number> => {
    const outcome = await (typeof way === 'function' ? oneByOne(those, way) : doTogether(those, way.together));
    const { done, refused, left } = outcome;
    keep([...refused, ...left].map(({ id }) => id));
    if (done.length < those.length) throw told(outcome);
    return done.length;
  };
}
