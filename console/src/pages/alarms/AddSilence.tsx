import { useQueryClient } from '@tanstack/react-query';
import { AutoComplete, Form, Input, Radio, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { useGroups } from '@/api/groups';
import { useMay, useSession } from '@/api/session';
import { maySilence } from '@/pages/alarms/telling';
import { FormDialog } from '@/parts/FormDialog';
import { JobChoice } from '@/parts/job/JobChoice';

interface NewSilence {
  scope: 'job' | 'group' | 'everything';
  job_id?: number;
  job_group?: number;
  lasts: string;
  reason: string;
}

const SPANS = ['1h', '4h', '1d', '7d'];

/** Tell nothing for a while, about one job (perhaps this one), a group or everything. */
export function AddSilence({ job }: { job?: { job_id: number; job_group?: number | null | undefined } }) {
  const { t } = useTranslation('alarms');
  const queries = useQueryClient();
  const session = useSession();
  if (!session || !maySilence(session.rights, job)) return null;
  return (
    <FormDialog<NewSilence>
      label={t('silences.add')}
      title={t('silences.addTitle')}
      confirm={t('silences.add')}
      button={job ? { size: 'small', type: 'text' } : { type: 'primary' }}
      initial={{ scope: 'job', lasts: '1h', ...(job && { job_id: job.job_id }) }}
      act={async ({ scope, job_id, job_group, lasts, reason }) => {
        const of = {
          job_id: scope === 'job' ? (job_id ?? null) : null,
          job_group: scope === 'group' ? (job_group ?? null) : null,
        };
        await got(api.POST('/api/v1/alarms/silences', { body: { ...of, lasts, reason } }));
        await queries.invalidateQueries({ queryKey: ['alarms'] });
        return t('silences.added');
      }}
    >
      <Scope />
      <Form.Item
        name="lasts"
        label={t('silences.lasts')}
        extra={t('silences.lastsHint')}
        rules={[{ required: true, message: t('required') }]}
      >
        <AutoComplete options={SPANS.map((value) => ({ value }))} />
      </Form.Item>
      <Form.Item name="reason" label={t('silences.reason')} rules={[{ required: true, message: t('required') }]}>
        <Input maxLength={255} />
      </Form.Item>
    </FormDialog>
  );
}

function Scope() {
  const { t } = useTranslation('alarms');
  const may = useMay();
  const groups = useGroups();
  const scope = Form.useWatch<NewSilence['scope'] | undefined>('scope');
  const scopes = (['job', 'group', 'everything'] as const)
    .filter((one) => one !== 'everything' || may('operate'))
    .map((one) => ({ value: one, label: t(`silences.${one}`) }));
  const required = [{ required: true, message: t('required') }];
  const search = { optionFilterProp: 'label' };
  return (
    <>
      <Form.Item name="scope" label={t('silences.what')}>
        <Radio.Group optionType="button" options={scopes} />
      </Form.Item>
      {scope === 'job' && (
        <Form.Item name="job_id" label={t('job')} rules={required}>
          <JobChoice allowed={(group) => may('operate', group)} />
        </Form.Item>
      )}
      {scope === 'group' && (
        <Form.Item name="job_group" label={t('silences.group')} rules={required}>
          <Select
            showSearch={search}
            options={groups.all
              .filter((one) => may('operate', one.id))
              .map((one) => ({ value: one.id, label: one.title || one.app_name }))}
          />
        </Form.Item>
      )}
    </>
  );
}
