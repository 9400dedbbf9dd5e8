import { Alert, Button, Form } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { AfterSection } from '@/pages/jobEditor/AfterSection';
import { ConflictDialog } from '@/pages/jobEditor/ConflictDialog';
import { LimitsSection } from '@/pages/jobEditor/LimitsSection';
import { PreviewPanel } from '@/pages/jobEditor/PreviewPanel';
import { ReviewDialog } from '@/pages/jobEditor/ReviewDialog';
import { type Edited, useSaving } from '@/pages/jobEditor/saving';
import { WhatSection } from '@/pages/jobEditor/WhatSection';
import { WhenSection } from '@/pages/jobEditor/WhenSection';
import { WhereSection } from '@/pages/jobEditor/WhereSection';
import type { Draft } from '@/parts/job/draft';
import type { Wrong } from '@/parts/job/schema';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { useUnsaved } from '@/parts/useUnsaved';
import './editor.css';

/** A job in a form. Saving shows what changes, and what somebody else changed meanwhile. */
export function EditorForm({ edited: begun }: { edited: Edited }) {
  const { t } = useTranslation('jobEditor');
  const navigate = useNavigate();
  const [form] = Form.useForm<Draft>();
  const [anyHandler, setAnyHandler] = useState(false);
  const [wrong, setWrong] = useState<readonly Wrong[]>([]);
  const saving = useSaving(begun, form);
  const { edited, review, theirs, busy, error } = saving;
  const { id, base } = edited;
  const unsaved = useRef(saving.unsaved);
  unsaved.current = saving.unsaved;
  useUnsaved(unsaved);
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
      {begun.begun && <Alert type="info" showIcon className="editor-problem" title={t('restoring')} />}
      {error !== null && !review && (
        <div className="editor-problem">
          <ProblemNotice error={error} />
        </div>
      )}
      <Form<Draft>
        form={form}
        layout="vertical"
        initialValues={begun.begun ?? begun.base}
        onFinish={saving.ask}
        onFinishFailed={({ errorFields }) => errorFields[0] && form.scrollToField(errorFields[0].name)}
        autoComplete="off"
        className="editor"
      >
        <div className="editor-sections">
          <WhatSection id={id} anyHandler={anyHandler} setAnyHandler={setAnyHandler} onWrong={setWrong} />
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
          draft={review.draft}
          isNew={id === undefined}
          changes={review.changes}
          wrong={wrong}
          busy={busy}
          error={error}
          save={() => void saving.save(anyHandler)}
          back={saving.back}
        />
      )}
      {theirs && <ConflictDialog base={base} mine={saving.current()} theirs={theirs.base} settle={saving.settle} />}
    </Page>
  );
}
