import { LeftOutlined, RightOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Button, Input, Tooltip } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { killOne, retryOne, runJob } from '@/api/executions';
import type { ExecutionDetail } from '@/api/types';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { OwnParameter, useOwnParameterOnly } from '@/parts/job/OwnParameter';
import { PermissionGate } from '@/parts/PermissionGate';
import { TERMINAL } from '@/status/statuses';

/** What can be done here; what opens a new execution leads to it. `stay`: where on its page one is. */
export function Actions({ execution: one, stay = '' }: { execution: ExecutionDetail; stay?: '' | '/log' }) {
  const { t } = useTranslation('execution');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const job = one.job_desc ?? t('removedJob');
  const look = () => queries.invalidateQueries({ queryKey: ['executions'] });
  async function opened(id: number | undefined): Promise<string> {
    await look();
    if (id === undefined) return t('opened');
    await navigate(`/executions/${id}${stay}`);
    return t('openedAs', { id });
  }
  return (
    <PermissionGate needs="operate" group={one.job_group}>
      {!TERMINAL[one.status] && (
        <ConfirmAction
          label={t('kill.label')}
          title={t('kill.title', { id: one.id })}
          confirm={t('kill.label')}
          danger
          act={async () => {
            await killOne(one.id);
            await look();
            return t('kill.done', { id: one.id });
          }}
        >
          <p>{t('kill.text', { job })}</p>
        </ConfirmAction>
      )}
      {TERMINAL[one.status] && (
        <ConfirmAction
          label={t('retry.label')}
          title={t('retry.title', { id: one.id })}
          confirm={t('retry.label')}
          button={{ type: one.status === 'success' ? 'default' : 'primary' }}
          act={async () => opened(await retryOne(one.id))}
        >
          <p>{t('retry.text', { job })}</p>
        </ConfirmAction>
      )}
      {one.job_desc !== null && <RunAgain execution={one} opened={opened} />}
    </PermissionGate>
  );
}

interface RunAgainProps {
  execution: ExecutionDetail;
  opened: (id: number | undefined) => Promise<string>;
}

/** A new run of the job, with the parameter of this one or another. */
function RunAgain({ execution: one, opened }: RunAgainProps) {
  const { t } = useTranslation('execution');
  const param = useRef(one.executor_param);
  const ownOnly = useOwnParameterOnly(one.executor_handler, one.job_group);
  return (
    <ConfirmAction
      label={t('run.label')}
      title={t('run.title', { job: one.job_desc })}
      confirm={t('run.confirm')}
      act={async () => opened(await runJob(one.job_id, ownOnly ? undefined : param.current))}
    >
      {ownOnly ? (
        <OwnParameter />
      ) : (
        <>
          <p>{t('run.text')}</p>
          <ParamInput
            first={one.executor_param}
            onChange={(text) => {
              param.current = text;
            }}
          />
        </>
      )}
    </ConfirmAction>
  );
}

function ParamInput({ first, onChange }: { first: string; onChange: (text: string) => void }) {
  const { t } = useTranslation('execution');
  const [text, setText] = useState(first);
  return (
    <Input.TextArea
      className="mono"
      rows={5}
      maxLength={65_535}
      value={text}
      aria-label={t('run.param')}
      placeholder={t('run.param')}
      onChange={(event) => {
        setText(event.target.value);
        onChange(event.target.value);
      }}
    />
  );
}

interface NeighboursProps {
  previous: number | null | undefined;
  next: number | null | undefined;
  go: (id: number) => void;
}

/** The runs of the job before and after this one. */
export function Neighbours({ previous, next, go }: NeighboursProps) {
  const { t } = useTranslation('execution');
  return (
    <span className="neighbours">
      <Tooltip title={`${t('previous')} [`}>
        <Button
          icon={<LeftOutlined />}
          aria-label={t('previous')}
          disabled={!previous}
          onClick={() => previous && go(previous)}
        />
      </Tooltip>
      <Tooltip title={`${t('next')} ]`}>
        <Button icon={<RightOutlined />} aria-label={t('next')} disabled={!next} onClick={() => next && go(next)} />
      </Tooltip>
    </span>
  );
}
