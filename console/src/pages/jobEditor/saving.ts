// How a draft is saved: shown first, then sent; refused at a field, or because somebody else was faster.

import { useQueryClient } from '@tanstack/react-query';
import { App, type FormInstance } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { changeJob, createJob, readJob } from '@/api/jobs';
import { Problem } from '@/api/problem';
import { type Change, changesOf, type Draft, defaults, draftOf, patchOf, tidied } from '@/parts/job/draft';
import { useFieldSaying } from '@/parts/ProblemNotice';

/** The key of jobs as they were when somebody began to edit them. */
export const EDITED = ['session', 'edited'] as const;

/** What is edited: a stored job as it was read, or a new one. */
export interface Edited {
  id: number | undefined;
  base: Draft;
  tag: string;
  /** What the form begins with, where that is not the base. */
  begun?: Draft;
}

export interface Saving {
  edited: Edited;
  current: () => Draft;
  unsaved: () => boolean;
  /** What is to be saved and what that changes, while somebody is asked. */
  review: { draft: Draft; changes: Change[] } | null;
  /** The job as somebody else saved it meanwhile. */
  theirs: Edited | null;
  busy: boolean;
  error: unknown;
  ask: () => void;
  save: (anyHandler: boolean) => Promise<void>;
  back: () => void;
  /** Go on with a draft on top of what somebody else saved; without one, with one's own as it is. */
  settle: (draft?: Draft) => void;
}

export function useSaving(begun: Edited, form: FormInstance<Draft>): Saving {
  const { t } = useTranslation('jobEditor');
  const { message } = App.useApp();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const sayField = useFieldSaying();
  const [edited, setEdited] = useState(begun);
  const [review, setReview] = useState<Saving['review']>(null);
  const [theirs, setTheirs] = useState<Edited | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [saved] = useState({ done: false });
  const { id, base, tag } = edited;
  const current = () => tidied({ ...base, ...(form.getFieldsValue(true) as Draft) });

  function ask() {
    const draft = current();
    const changes = changesOf(id === undefined ? { ...defaults(draft.job_group), job_group: 0 } : base, draft);
    setError(null);
    if (changes.length > 0) setReview({ draft, changes });
    else void message.info(t('review.nothing'));
  }

  async function save(anyHandler: boolean) {
    if (!review) return;
    setBusy(true);
    setError(null);
    try {
      const { draft, changes } = review;
      const job = await (id === undefined
        ? createJob(draft, anyHandler)
        : changeJob(id, tag, patchOf(changes), anyHandler));
      saved.done = true;
      queries.removeQueries({ queryKey: EDITED });
      await queries.invalidateQueries({ queryKey: ['executions'] });
      void message.success(t('saved', { job: job.job_desc }));
      await navigate(`/jobs/${job.id}`);
    } catch (reason) {
      await refused(reason);
    } finally {
      setBusy(false);
    }
  }

  async function refused(reason: unknown) {
    if (!(reason instanceof Problem)) return setError(reason);
    setReview(null);
    if (reason.status !== 412 || id === undefined) {
      setError(reason);
      return markFields(reason);
    }
    try {
      const fresh = await readJob(id);
      setTheirs({ id, base: draftOf(fresh.job), tag: fresh.tag });
    } catch (gone) {
      setError(gone);
    }
  }

  function markFields({ errors }: Problem) {
    const fields = errors.map((one) => ({ name: one.field.split('.')[0] as keyof Draft, errors: [sayField(one)] }));
    form.setFields(fields);
    if (fields[0]) form.scrollToField(fields[0].name, { block: 'center' });
  }

  function settle(draft?: Draft) {
    if (theirs && draft) {
      setEdited(theirs);
      form.setFieldsValue(draft);
    }
    setTheirs(null);
  }

  const unsaved = () => !saved.done && changesOf(base, current()).length > 0;
  return { edited, current, unsaved, review, theirs, busy, error, ask, save, back: () => setReview(null), settle };
}
