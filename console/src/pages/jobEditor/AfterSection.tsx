import { useQuery } from '@tanstack/react-query';
import { Checkbox, Form, Input, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { AlarmPolicyField } from '@/pages/jobEditor/AlarmPolicyField';
import { CHILD_PARAMS } from '@/pages/jobEditor/choices';
import { Explained } from '@/pages/jobEditor/Explained';
import type { Draft } from '@/parts/job/draft';
import { Panel } from '@/parts/Page';

/** What follows: jobs after a success, and who is told of failures. */
export function AfterSection() {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  const children = Form.useWatch('child_jobid', form) ?? [];
  const route = Form.useWatch('executor_route_strategy', form);
  return (
    <>
      <Panel title={t('sections.children')}>
        <Form.Item name="child_jobid" label={t('fields.child_jobid')} extra={t('help.children')}>
          <JobsField />
        </Form.Item>
        {children.length > 0 && (
          <Explained
            name="child_param"
            label={t('fields.child_param')}
            choices={CHILD_PARAMS}
            nameOf={(one) => t(`childParam.${one}.name`)}
            helpOf={(one) => t(`childParam.${one}.help`)}
          />
        )}
        {children.length > 0 && route === 'SHARDING_BROADCAST' && (
          <Form.Item name="child_per_shard" valuePropName="checked">
            <Checkbox>{t('fields.child_per_shard')}</Checkbox>
          </Form.Item>
        )}
      </Panel>
      <Panel title={t('sections.alarms')}>
        <Form.Item name="alarm_email" label={t('fields.alarm_email')} extra={t('help.email')}>
          <Input maxLength={255} placeholder="team@example.org" />
        </Form.Item>
        <Form.Item name="alarm_policy" label={t('fields.alarm_policy')}>
          <AlarmPolicyField />
        </Form.Item>
      </Panel>
    </>
  );
}

interface JobsFieldProps {
  id?: string;
  value?: number[];
  onChange?: (ids: number[]) => void;
}

/** Jobs by name; those already chosen are shown by number until their name is known. */
function JobsField({ id, value = [], onChange = () => {} }: JobsFieldProps) {
  const [text, setText] = useState('');
  const found = useQuery({
    queryKey: ['jobs', 'named', text],
    queryFn: () => got(api.GET('/api/v1/jobs/board', { params: { query: { limit: 50, ...(text && { text }) } } })),
    staleTime: 10_000,
  }).data?.items;
  const options = (found ?? []).map(({ job }) => ({ value: job.id, label: `${job.job_desc} (${job.id})` }));
  return (
    <Select
      id={id}
      mode="multiple"
      maxCount={20}
      value={value}
      onChange={onChange}
      options={options}
      showSearch={{ filterOption: false, onSearch: (typed) => setText(typed.slice(0, 200)) }}
    />
  );
}
