import { Alert, Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import './parts.css';

const FORBIDDEN = 403;

/** Why something did not work, and what to do next. What one may not do is refused the next time as well. */
export function ProblemNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useTranslation('common');
  const { title, description } = useSaid(error);
  const refused = error instanceof Problem && error.status === FORBIDDEN;
  const action = retry && !refused && (
    <Button size="small" onClick={retry}>
      {t('retry')}
    </Button>
  );
  const said = description && <span className="problem-hint">{description}</span>;
  return <Alert type="error" showIcon title={title} description={said} action={action} role="alert" />;
}

interface Said {
  title: string;
  description: string | undefined;
}

/** An error in words: in the person's language where it has a code that we know, else the server's own. */
export function useSaid(error: unknown): Said {
  return useSaying()(error);
}

export function useSaying(): (error: unknown) => Said {
  const { t } = useTranslation('common');
  const known = useKnownProblems();
  const nameOf = useFieldNames();
  const inFull = ({ code, facts, field, message }: Problem['errors'][number]) => {
    const { is = message, next = '' } = known(code, facts);
    return t('atField', { field: nameOf(field), trouble: `${is} ${next}`.trim() });
  };
  return (error) => {
    if (!(error instanceof Problem)) return { title: t('unreachable'), description: t('unreachableHint') };
    const { is, next } = known(error.code, error.facts);
    if (is && error.code === 'invalid_request') {
      return { title: is, description: error.errors.map(inFull).join('\n') };
    }
    return { title: is ?? error.message, description: next ?? error.hint };
  };
}

/** What is wrong with a field, in the language of the page. */
export function useFieldSaying(): (trouble: Problem['errors'][number]) => string {
  const known = useKnownProblems();
  return ({ code, facts, message }) => known(code, facts).is ?? message;
}

/** A field as forms call it, `definition.headers.0` is one of the headers; as the API does where no form has it. */
export function useFieldNames(): (field: string) => string {
  const { t, i18n } = useTranslation('common');
  return (field) => {
    const parts = field.split('.').filter((part) => !/^\d*$/.test(part));
    const [first, last] = [parts[0] as 'job_desc', parts.at(-1) as 'url'];
    if (i18n.exists?.(`jobEditor:fields.${first}`)) return i18n.t(`jobEditor:fields.${first}`); // in the editor of jobs
    return i18n.exists?.(`common:field.${last}`) ? t(`field.${last}`) : field;
  };
}

interface Known {
  is: string | undefined;
  next: string | undefined;
}

/** What a code and its facts say in the language of the page; nothing for a code of a newer server. */
export function useKnownProblems(): (code: string | null | undefined, facts: Facts | null | undefined) => Known {
  const { t, i18n } = useTranslation('common');
  const knows = (key: string) => i18n.exists?.(`common:${key}`) ?? false;
  return (code, facts) => {
    const what = facts?.what as 'job' | undefined;
    const part = facts?.part && (String(facts.part).replace(' ', '-') as 'hour');
    const told = {
      ...facts,
      ...(what && knows(`thing.${what}`) && { what: t(`thing.${what}`) }),
      ...(part && knows(`part.${part}`) && { part: t(`part.${part}`) }),
    };
    const named = code as 'needs_permission';
    // What the API says of its own parameters is said of the fields that stand for them here.
    const ours = code as 'handler_needed';
    const oursNext = code as 'unknown_handler';
    return {
      is: knows(`here.${code}.is`)
        ? t(`here.${ours}.is`, told)
        : knows(`problem.${code}.is`)
          ? t(`problem.${named}.is`, told)
          : undefined,
      next: knows(`here.${code}.do`)
        ? t(`here.${oursNext}.do`, told)
        : knows(`problem.${code}.do`)
          ? t(`problem.${named}.do`, told)
          : undefined,
    };
  };
}

type Facts = Record<string, string | number>;
