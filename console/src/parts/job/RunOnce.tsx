import { CaretRightOutlined } from '@ant-design/icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Alert, Button, type ButtonProps, Checkbox, Form } from 'antd';
import type { AlertRef } from 'antd/es/alert/Alert';
import { Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { groupsQuery } from '@/api/groups';
import { executorsQuery, handlersQuery, superHandlerQuery, triggerJob } from '@/api/jobs';
import { scriptQuery } from '@/api/scripts';
import type { Job, LogLevel } from '@/api/types';
import { ClearableSelect } from '@/parts/clearable';
import { Dialog } from '@/parts/Dialog';
import { OwnParameter, useOwnParameterOnly } from '@/parts/job/OwnParameter';
import { ParameterField, type ParameterMode } from '@/parts/job/ParameterField';
import type { Wrong } from '@/parts/job/schema';
import { WrongList } from '@/parts/job/WrongList';
import { keptOpen } from '@/parts/keptOpen';
import { PermissionGate } from '@/parts/PermissionGate';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './job.css';

const LOG_LEVELS: readonly LogLevel[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

interface Props {
  job: Job;
  button?: ButtonProps;
  /** Without words, where there is little room. */
  short?: boolean;
}

/** Runs a job now. The dialog names it, and leads to the execution. */
export function RunOnce({ job, button, short }: Props) {
  const { t } = useTranslation('jobs');
  const [open, setOpen] = useState(false);
  return (
    <PermissionGate needs="operate" group={job.job_group}>
      <Button
        icon={<CaretRightOutlined />}
        {...button}
        {...(short && { 'aria-label': t('run.named', { job: job.job_desc }), title: t('run.label') })}
        onClick={() => setOpen(true)}
      >
        {!short && t('run.label')}
      </Button>
      {open && <RunDialog job={job} close={() => setOpen(false)} />}
    </PermissionGate>
  );
}

interface DialogProps {
  job: Job;
  close: () => void;
  /** The run that is to be repeated: its parameter, what the dialog says, and where on the page of the new one to go. */
  again?: { param: string; title: string; text: string; stay: '' | '/log' };
}

/** Its texts may have to be fetched: the page stays as it is meanwhile, and the focus where it is. */
export function RunDialog(props: DialogProps) {
  return (
    <Suspense fallback={null}>
      <Run {...props} />
    </Suspense>
  );
}

function Run({ job, close, again }: DialogProps) {
  const { t } = useTranslation('jobs');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const first = again?.param ?? job.executor_param;
  const [param, setParam] = useState(first);
  const wrongs = useWrongs();
  const [address, setAddress] = useState<string | null>(null);
  const [logLevel, setLogLevel] = useState<LogLevel | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const handlers = useQuery({ ...handlersQuery(job.job_group), enabled: job.glue_type === 'BEAN' });
  const above = useQuery({ ...superHandlerQuery(job.super_task_id), enabled: job.super_task_id > 0 });
  const ownOnly = useOwnParameterOnly(above.data ?? job.executor_handler, job.job_group);
  const code = useQuery({ ...scriptQuery(job.id), enabled: job.glue_type !== 'BEAN' });
  const handler = handlers.data?.items.find((one) => one.name === job.executor_handler);
  const schema = handler?.params_schema ?? code.data?.value.params_schema;
  const reading = handlers.isLoading || code.isLoading;

  async function run() {
    if (!ownOnly && wrongs.refuse()) return;
    setBusy(true);
    setError(null);
    try {
      const id = await triggerJob(job.id, {
        ...(!ownOnly && param !== job.executor_param && { param }),
        ...(address && { address }),
        ...(logLevel && { logLevel }),
      });
      await queries.invalidateQueries({ queryKey: ['executions'] });
      close();
      await navigate(id === undefined ? `/executions?job_id=${job.id}` : `/executions/${id}${again?.stay ?? ''}`);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      title={again?.title ?? t('run.title', { job: job.job_desc })}
      okText={t('run.confirm')}
      okButtonProps={{ loading: busy, autoFocus: true }}
      onOk={run}
      onCancel={close}
      {...keptOpen(param !== first || address !== null || logLevel !== null)}
      destroyOnHidden
      width={560}
    >
      <p className="muted">{again?.text ?? t('run.text')}</p>
      <Form layout="vertical" component="div">
        <Form.Item label={t('run.param')}>
          {ownOnly ? (
            <OwnParameter value={job.executor_param} />
          ) : (
            <ParameterField
              schema={schema}
              reading={reading}
              value={param}
              onChange={setParam}
              onWrong={wrongs.heard}
            />
          )}
        </Form.Item>
        {job.executor_queue === '' && (
          <Form.Item label={t('run.executor')}>
            <ExecutorChoice group={job.job_group} value={address} onChange={setAddress} />
          </Form.Item>
        )}
        <Form.Item label={t('run.logLevel')} extra={t('run.logLevelHelp')}>
          <ClearableSelect
            value={logLevel}
            onChange={(chosen) => setLogLevel(chosen ?? null)}
            placeholder={t('run.ownLevel')}
            aria-label={t('run.logLevel')}
            options={LOG_LEVELS.map((level) => ({ value: level }))}
          />
        </Form.Item>
      </Form>
      {!ownOnly && wrongs.refused && <WrongNotice {...wrongs} />}
      {error !== null && <ProblemNotice error={error} />}
    </Dialog>
  );
}

/** What is wrong with the parameter. Nothing runs with it, unless somebody who wrote it as text says that it is meant. */
export function useWrongs() {
  const [heard, setHeard] = useState<{ wrong: Wrong[]; mode: ParameterMode }>({ wrong: [], mode: 'form' });
  const [asked, setAsked] = useState(false);
  const [meant, setMeant] = useState(false);
  const { wrong, mode } = heard;
  return {
    wrong,
    mode,
    meant,
    setMeant,
    refused: asked && wrong.length > 0,
    heard: useCallback((wrong: Wrong[], mode: ParameterMode) => setHeard({ wrong, mode }), []),
    refuse() {
      setAsked(true);
      return wrong.length > 0 && !(mode === 'json' && meant);
    },
  };
}

export function WrongNotice({ wrong, mode, meant, setMeant }: ReturnType<typeof useWrongs>) {
  const { t } = useTranslation('jobs');
  const wayOn =
    mode === 'json' ? (
      <Checkbox checked={meant} onChange={(event) => setMeant(event.target.checked)}>
        {t('run.asItIs')}
      </Checkbox>
    ) : (
      t('run.onPurpose')
    );
  const notice = useRef<AlertRef>(null);
  useEffect(() => {
    notice.current?.nativeElement.scrollIntoView({ block: 'nearest' }); // the dialog may be long
  }, []);
  return (
    <Alert
      ref={notice}
      type="error"
      showIcon
      role="alert"
      title={t('run.wrong')}
      description={
        <>
          <WrongList wrong={wrong} />
          {wayOn}
        </>
      }
    />
  );
}

interface ChoiceProps {
  group: number;
  value: string | null;
  onChange: (address: string | null) => void;
}

/** One executor of the group, or whichever the job's route strategy chooses. */
function ExecutorChoice({ group, value, onChange }: ChoiceProps) {
  const { t } = useTranslation('jobs');
  const named = useQuery(groupsQuery).data?.items.find((one) => one.id === group);
  const executors = useQuery({ ...executorsQuery(named?.app_name ?? ''), enabled: named !== undefined });
  const beating = (executors.data?.items ?? []).filter((one) => one.queues.length === 0);
  const known = new Set(beating.map((one) => one.address));
  const written = (named?.address_list ?? []).filter((one) => !known.has(one));
  const options = [
    ...beating.map((one) => ({
      value: one.address,
      label: `${one.address}${one.state === 'alive' ? '' : ` · ${t('run.silent')}`}`,
    })),
    ...written.map((one) => ({ value: one, label: one })),
  ];
  return (
    <ClearableSelect
      showSearch
      value={value}
      onChange={(chosen) => onChange(chosen ?? null)}
      placeholder={t('run.any')}
      aria-label={t('run.executor')}
      options={options}
      notFoundContent={t('run.nobody')}
    />
  );
}
