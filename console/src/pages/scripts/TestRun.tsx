import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { api, got } from '@/api/client';
import { executionQuery } from '@/api/executions';
import { useGroups } from '@/api/groups';
import { executorsQuery, jobQuery } from '@/api/jobs';
import type { Header, Script } from '@/api/scripts';
import { ClearableSelect } from '@/parts/clearable';
import { GrowingText } from '@/parts/GrowingText';
import { ParameterField } from '@/parts/job/ParameterField';
import { useWrongs, WrongNotice } from '@/parts/job/RunOnce';
import { fateOf } from '@/parts/log/ending';
import { LogViewer } from '@/parts/log/LogViewer';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { WhyBox } from '@/parts/why/WhyBox';
import { StatusTag } from '@/status/StatusTag';
import { TERMINAL } from '@/status/statuses';

/** Run what is in the editor once, beside the job and without saving it, with its log beside the code. */
export function TestRun({ script, source, header }: { script: Script; source: string; header: Header }) {
  const { t } = useTranslation('scripts');
  const appName = useGroups().all.find((one) => one.id === script.job_group)?.app_name;
  const executors = useQuery({ ...executorsQuery(appName ?? ''), enabled: appName !== undefined }).data?.items ?? [];
  const [address, setAddress] = useState<string | null>(null);
  const own = useQuery(jobQuery(script.job_id)).data?.executor_param ?? '';
  const [param, setParam] = useState<string | null>(null);
  const wrongs = useWrongs();
  const declared = header.params_schema !== null;
  const [running, setRunning] = useState<number | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  async function run() {
    if (declared && wrongs.refuse()) return;
    setBusy(true);
    setError(null);
    try {
      const { execution_ids } = await got(
        api.POST('/api/v1/scripts/{job_id}/test', {
          params: { path: { job_id: script.job_id } },
          body: { source, address, executor_param: param },
        }),
      );
      setRunning(execution_ids[0] ?? null);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <div className="test-run">
      <p className="muted">{t('test.text')}</p>
      <div className="test-choices">
        <ClearableSelect
          placeholder={t('test.byRouting')}
          aria-label={t('test.executor')}
          value={address}
          onChange={(chosen) => setAddress(chosen ?? null)}
          options={executors.map((one) => ({ value: one.address, label: one.address.replace(/^https?:\/\//, '') }))}
        />
        {!declared && (
          <GrowingText
            placeholder={t('test.param')}
            aria-label={t('test.param')}
            value={param ?? own}
            onChange={setParam}
          />
        )}
        <Button type="primary" loading={busy} onClick={() => void run()}>
          {t('test.run')}
        </Button>
      </div>
      {declared && (
        <ParameterField schema={header.params_schema} value={param ?? own} onChange={setParam} onWrong={wrongs.heard} />
      )}
      {declared && wrongs.refused && <WrongNotice {...wrongs} />}
      {error !== null && <ProblemNotice error={error} />}
      {running !== null && <Outcome key={running} id={running} />}
    </div>
  );
}

function Outcome({ id }: { id: number }) {
  const { t } = useTranslation('scripts');
  const execution = useQuery(executionQuery(id)).data;
  return (
    <>
      <p className="test-outcome">
        {execution && <StatusTag execution={execution} />}
        <Link to={`/executions/${id}`}>{t('test.execution', { id })}</Link>
      </p>
      {execution && TERMINAL[execution.status] && execution.status !== 'success' && <WhyBox executionId={id} />}
      <div className="test-log">
        <LogViewer
          executionId={id}
          startTime={execution?.start_time ?? null}
          fate={execution ? fateOf(execution) : 'open'}
          apart
        />
      </div>
    </>
  );
}
