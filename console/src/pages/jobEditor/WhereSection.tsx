import { useQuery } from '@tanstack/react-query';
import { Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { useGroups } from '@/api/groups';
import { executorsQuery } from '@/api/jobs';
import { PRIORITIES, ROUTES } from '@/pages/jobEditor/choices';
import { Explained } from '@/pages/jobEditor/Explained';
import type { Draft } from '@/parts/job/draft';
import { Panel } from '@/parts/Page';

/** Which executor runs it. */
export function WhereSection() {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  const queue = Form.useWatch('executor_queue', form) ?? '';
  return (
    <Panel title={t('sections.where')}>
      <Explained
        name="executor_route_strategy"
        label={t('fields.executor_route_strategy')}
        choices={ROUTES}
        nameOf={(one) => t(`route.${one}.name`)}
        helpOf={(one) => t(`route.${one}.help`)}
      />
      <Shards />
      <div className="form-pair">
        <Form.Item name="label_selector" label={t('fields.label_selector')} extra={t('help.labels')}>
          <Input className="mono" maxLength={500} placeholder="zone=eu,gpu" />
        </Form.Item>
        <Form.Item name="executor_queue" label={t('fields.executor_queue')} extra={t('help.queue')}>
          <Input className="mono" maxLength={64} />
        </Form.Item>
      </div>
      {queue !== '' && (
        <Explained
          name="priority"
          label={t('fields.priority')}
          choices={PRIORITIES}
          nameOf={(one) => t(`priority.${one}.name`)}
          helpOf={() => t('help.priority')}
        />
      )}
    </Panel>
  );
}

/** Of a broadcast: how many shards there would be now. */
function Shards() {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  const group = Form.useWatch('job_group', form);
  const route = Form.useWatch('executor_route_strategy', form);
  const named = useGroups().all.find((one) => one.id === group);
  const wanted = route === 'SHARDING_BROADCAST' && named !== undefined;
  const executors = useQuery({ ...executorsQuery(named?.app_name ?? ''), enabled: wanted }).data?.items;
  if (!wanted || !executors) return null;
  const count = named.address_type === 1 ? named.address_list.length : executors.length;
  return <p className="muted">{t('shards', { count })}</p>;
}
