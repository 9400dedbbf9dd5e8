import { useQuery } from '@tanstack/react-query';
import { Alert, Button, Skeleton, Tabs, Tag } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { useGroups } from '@/api/groups';
import { isGone } from '@/api/problem';
import { type Script as ScriptShown, scriptQuery } from '@/api/scripts';
import { useMay } from '@/api/session';
import type { Tagged } from '@/api/tagged';
import { Conflict, type Refused } from '@/pages/scripts/Conflict';
import { Declared } from '@/pages/scripts/Declared';
import { interpreterOf } from '@/pages/scripts/interpreters';
import { SaveScript } from '@/pages/scripts/SaveScript';
import { TestRun } from '@/pages/scripts/TestRun';
import { Versions } from '@/pages/scripts/Versions';
import { CodeEditor } from '@/parts/code/LazyCode';
import type { CodeKind } from '@/parts/code/languages';
import { withLineEnds } from '@/parts/code/lineEnds';
import { useHeader } from '@/parts/code/useHeader';
import { EmptyState } from '@/parts/EmptyState';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { Instant } from '@/parts/time/Instant';
import { useUnsaved } from '@/parts/useUnsaved';
import './scripts.css';

/** The code of one job: read, write, compare, try. */
export function Script() {
  const { job = '' } = useParams();
  return /^[1-9]\d{0,9}$/.test(job) ? <Known key={job} id={Number(job)} /> : <Missing page />;
}

function Missing({ page = false }: { page?: boolean }) {
  const { t } = useTranslation('scripts');
  return (
    <EmptyState page={page} title={t('missing.title')} action={<Link to="/scripts">{t('title')}</Link>}>
      {t('missing.hint')}
    </EmptyState>
  );
}

function Known({ id }: { id: number }) {
  const script = useQuery(scriptQuery(id));
  if (script.isPending) return <Skeleton active />;
  const gone = isGone(script.error);
  if (!script.data) {
    return gone ? <Missing page /> : <ProblemNotice error={script.error} retry={() => void script.refetch()} />;
  }
  // What somebody has typed stays, to be copied.
  return (
    <>
      {gone && <Missing />}
      <Open read={script.data} />
    </>
  );
}

interface Draft {
  text: string;
  /** The code it was made from, */
  from: string;
  /** and the tag of that. */
  etag: string;
}

function Open({ read: { value: script, etag } }: { read: Tagged<ScriptShown> }) {
  const { t } = useTranslation('scripts');
  const may = useMay();
  const [draft, setDraft] = useState<Draft | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  const kind = script.glue_type as CodeKind;
  const source = draft?.text ?? script.glue_source;
  const unsaved = source !== script.glue_source;
  const writable = script.scripts_allowed && may('script', script.job_group);
  const base = draft?.etag ?? etag;
  const header = useHeader(kind, source, script);
  const leaving = useRef(() => unsaved);
  leaving.current = () => unsaved;
  useUnsaved(leaving);
  const write = (text: string) =>
    setDraft((before) => {
      const from = before?.from ?? script.glue_source;
      const written = withLineEnds(text, from);
      return written === from ? null : { text: written, from, etag: before?.etag ?? etag };
    });

  return (
    <Page
      title={script.job_desc}
      intro={<About script={script} source={source} writable={writable} />}
      actions={
        writable && (
          <SaveScript
            script={script}
            source={source}
            etag={base}
            unsaved={unsaved}
            forget={() => setDraft(null)}
            refuse={setRefused}
          />
        )
      }
    >
      {!writable && <WhyNot script={script} />}
      {unsaved && base !== etag && (
        <Newer script={script} compare={() => setRefused({ theirs: { value: script, etag }, remark: null })} />
      )}
      <div className="script">
        <section className="panel script-code" aria-label={t('code')}>
          <CodeEditor
            kind={kind}
            label={t('codeOf', { job: script.job_desc })}
            value={source}
            onChange={writable ? write : undefined}
          />
        </section>
        <section className="panel script-side" aria-label={t('side')}>
          <Declared header={header} />
          <Tabs
            items={[
              {
                key: 'versions',
                label: t('versions.title'),
                children: (
                  <Versions
                    script={script}
                    etag={etag}
                    draft={unsaved ? source : null}
                    writable={writable}
                    forget={() => setDraft(null)}
                  />
                ),
              },
              ...(writable
                ? [
                    {
                      key: 'test',
                      label: t('test.title'),
                      children: <TestRun script={script} source={source} header={header} />,
                    },
                  ]
                : []),
            ]}
          />
        </section>
      </div>
      {refused && (
        <Conflict
          refused={refused}
          script={script}
          mine={source}
          close={() => setRefused(null)}
          forget={() => setDraft(null)}
        />
      )}
    </Page>
  );
}

/** Somebody has saved since one began to write. What one has written stays. */
function Newer({ script, compare }: { script: ScriptShown; compare: () => void }) {
  const { t } = useTranslation('scripts');
  return (
    <Alert
      className="script-notice"
      type="warning"
      showIcon
      title={t('conflict.title', { author: script.author })}
      description={t('newer', { remark: script.glue_remark })}
      action={
        <Button size="small" onClick={compare}>
          {t('compare.label')}
        </Button>
      }
    />
  );
}

/** What kind of code it is and who runs it, who saved it last, and who may write it. */
function About({ script, source, writable }: { script: ScriptShown; source: string; writable: boolean }) {
  const { t } = useTranslation('scripts');
  const group = useGroups().name(script.job_group);
  const kind = script.glue_type as CodeKind;
  const interpreter = interpreterOf(kind, source);
  return (
    <>
      <Tag>{t(`kind.${kind}`)}</Tag>{' '}
      {interpreter !== undefined && (
        <>
          {t('runBy')} {interpreter === null ? t('inExecutor') : <code>{interpreter}</code>}
          {' · '}
        </>
      )}
      {group} · {script.glue_remark}
      {script.author && ` · ${script.author}`}
      {script.saved_at && (
        <>
          {' · '}
          <Instant at={script.saved_at} />
        </>
      )}
      {writable && (
        <>
          <br />
          {t('writers', { group })}
        </>
      )}
    </>
  );
}

/** Why the code can only be read: the group does not allow scripts, or the person may not write them. */
function WhyNot({ script }: { script: ScriptShown }) {
  const { t } = useTranslation('scripts');
  const group = useGroups().name(script.job_group);
  if (!script.scripts_allowed) {
    return (
      <Alert
        className="script-notice"
        type="warning"
        showIcon
        title={t('off.title', { group })}
        description={
          <>
            {t('off.hint')} <code>orth script allow {script.job_group}</code>
          </>
        }
      />
    );
  }
  return (
    <Alert className="script-notice" type="info" showIcon title={t('readOnly')} description={t('ask', { group })} />
  );
}
