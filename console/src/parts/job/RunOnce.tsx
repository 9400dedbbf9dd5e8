import { CaretRightOutlined } from '@ant-design/icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, type ButtonProps, Form, Modal, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { groupsQuery } from '@/api/groups';
import { executorsQuery, handlersQuery, jobQuery, triggerJob } from '@/api/jobs';
import type { Job } from '@/api/types';
import { OwnParameter, useOwnParameterOnly } from '@/parts/job/OwnParameter';
import { ParameterField } from '@/parts/job/ParameterField';
import { PermissionGate } from '@/parts/PermissionGate';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './job.css';

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

export function RunDialog({ job, close }: { job: Job; close: () => void }) {
  const { t } = useTranslation('jobs');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [param, setParam] = useState(job.executor_param);
  const [address, setAddress] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const handlers = useQuery({ ...handlersQuery(job.job_group), enabled: job.glue_type === 'BEAN' });
  const above = useQuery({ ...jobQuery(job.super_task_id), enabled: job.super_task_id > 0 });
  const ownOnly = useOwnParameterOnly(above.data?.executor_handler ?? job.executor_handler, job.job_group);
  const schema = handlers.data?.items.find((one) => one.name === job.executor_handler)?.params_schema;

  async function run() {
    setBusy(true);
    setError(null);
    try {
      const id = await triggerJob(job.id, {
        ...(!ownOnly && param !== job.executor_param && { param }),
        ...(address && { address }),
      });
      await queries.invalidateQueries({ queryKey: ['executions'] });
      close();
      await navigate(id === undefined ? `/executions?job_id=${job.id}` : `/executions/${id}`);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Modal
      open
      title={t('run.title', { job: job.job_desc })}
      okText={t('run.confirm')}
      okButtonProps={{ loading: busy, autoFocus: true }}
      onOk={run}
      onCancel={close}
      destroyOnHidden
      width={560}
    >
      <p className="muted">{t('run.text')}</p>
      <Form layout="vertical" component="div">
        <Form.Item label={t('run.param')}>
          {ownOnly ? (
            <OwnParameter value={job.executor_param} />
          ) : (
            <ParameterField schema={schema} value={param} onChange={setParam} />
          )}
        </Form.Item>
        {job.executor_queue === '' && (
          <Form.Item label={t('run.executor')}>
            <ExecutorChoice group={job.job_group} value={address} onChange={setAddress} />
          </Form.Item>
        )}
      </Form>
      {error !== null && <ProblemNotice error={error} />}
    </Modal>
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
    <Select
      allowClear
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
