import { useQueryClient } from '@tanstack/react-query';
import { App, Button, Form } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { changeJob, createJob, readJob } from '@/api/jobs';
import { Problem } from '@/api/problem';
import { AfterSection } from '@/pages/jobEditor/AfterSection';
import { ConflictDialog } from '@/pages/jobEditor/ConflictDialog';
import { LimitsSection } from '@/pages/jobEditor/LimitsSection';
import { PreviewPanel } from '@/pages/jobEditor/PreviewPanel';
import { ReviewDialog } from '@/pages/jobEditor/ReviewDialog';
import { useUnsaved } from '@/pages/jobEditor/useUnsaved';
import { WhatSection } from '@/pages/jobEditor/WhatSection';
import { WhenSection } from '@/pages/jobEditor/WhenSection';
import { WhereSection } from '@/pages/jobEditor/WhereSection';
import { changesOf, type Draft, defaults, draftOf, patchOf, tidied } from '@/parts/job/draft';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './editor.css';

/** The key of jobs as they were when somebody began to edit them. */
export const EDITED = ['session', 'edited'] as const;

/** What is edited: a stored job as it was read, or a new one. */
export interface Edited {
  id: number | undefined;
  base: Draft;
  tag: string;
}

interface Props {
  edited: Edited;
  /** What the form begins with, if that is not what is stored. */
  first?: Draft;
}

/** A job in a form. Saving shows what changes, and what somebody else changed meanwhile. */
export function EditorForm({ edited, first }: Props) {
  const { t } = useTranslation('jobEditor');
  const { message } = App.useApp();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [form] = Form.useForm<Draft>();
  const [{ id, base, tag }, setEdited] = useState(edited);
  const [anyHandler, setAnyHandler] = useState(false);
  const [review, setReview] = useState<Draft | null>(null);
  const [theirs, setTheirs] = useState<Edited | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const saved = useRef(false);

  const current = () => tidied({ ...base, ...(form.getFieldsValue(true) as Draft) });
  const stored = (draft: Draft) => (id === undefined ? { ...defaults(draft.job_group), job_group: 0 } : base);
  const unsaved = useRef<() => boolean>(() => false);
  unsaved.current = () => !saved.current && changesOf(base, current()).length > 0;
  useUnsaved(unsaved);

  function ask() {
    const draft = current();
    setError(null);
    if (changesOf(stored(draft), draft).length === 0) void message.info(t('review.nothing'));
    else setReview(draft);
  }

  async function save(draft: Draft) {
    setBusy(true);
    setError(null);
    try {
      const job =
        id === undefined
          ? await createJob(draft, anyHandler)
          : await changeJob(id, tag, patchOf(changesOf(base, draft)), anyHandler);
      saved.current = true;
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
    if (reason.status === 412 && id !== undefined) {
      const fresh = await readJob(id);
      return setTheirs({ id, base: draftOf(fresh.job), tag: fresh.tag });
    }
    setError(reason);
    markFields(reason);
  }

  function markFields({ errors }: Problem) {
    const fields = errors.map(({ field, message: said }) => ({
      name: field.split('.')[0] as keyof Draft,
      errors: [said],
    }));
    form.setFields(fields);
    if (fields[0]) form.scrollToField(fields[0].name, { block: 'center' });
  }

  function goOnFrom(other: Edited, draft: Draft) {
    setEdited(other);
    form.setFieldsValue(draft);
    setTheirs(null);
  }

  return (
    <Page
      title={id === undefined ? t('title.new') : t('title.edit', { job: base.job_desc })}
      actions={
        <>
          <Button onClick={() => void navigate(id === undefined ? '/jobs' : `/jobs/${id}`)}>{t('cancel')}</Button>
          <Button type="primary" onClick={() => form.submit()}>
            {id === undefined ? t('create') : t('save')}
          </Button>
        </>
      }
    >
      {error !== null && !review && (
        <div className="editor-problem">
          <ProblemNotice error={error} />
        </div>
      )}
      <Form<Draft>
        form={form}
        layout="vertical"
        initialValues={first ?? base}
        onFinish={ask}
        onFinishFailed={({ errorFields }) => errorFields[0] && form.scrollToField(errorFields[0].name)}
        autoComplete="off"
        className="editor"
      >
        <div className="editor-sections">
          <WhatSection id={id} anyHandler={anyHandler} setAnyHandler={setAnyHandler} />
          <WhenSection />
          <WhereSection />
          <LimitsSection />
          <AfterSection />
        </div>
        <aside className="editor-side">
          <PreviewPanel />
        </aside>
      </Form>
      {review && (
        <ReviewDialog
          name={review.job_desc}
          isNew={id === undefined}
          changes={changesOf(stored(review), review)}
          busy={busy}
          error={error}
          save={() => void save(review)}
          back={() => setReview(null)}
        />
      )}
      {theirs && (
        <ConflictDialog
          base={base}
          mine={current()}
          theirs={theirs.base}
          goOn={(draft) => goOnFrom(theirs, draft)}
          takeTheirs={() => goOnFrom(theirs, theirs.base)}
          close={() => setTheirs(null)}
        />
      )}
    </Page>
  );
}
