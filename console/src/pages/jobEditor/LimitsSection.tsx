import { Form } from 'antd';
import { useTranslation } from 'react-i18next';
import { BLOCKS, OVERLAPS } from '@/pages/jobEditor/choices';
import { Explained } from '@/pages/jobEditor/Explained';
import { RetryPolicyField } from '@/pages/jobEditor/RetryPolicyField';
import { InputNumber } from '@/parts/InputNumber';
import type { Draft } from '@/parts/job/draft';
import { Panel } from '@/parts/Page';

const WEEK = 7 * 86_400;

/** What happens when it is still busy, takes too long or fails. */
export function LimitsSection() {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  const block = Form.useWatch('executor_block_strategy', form);
  const retries = Form.useWatch('executor_fail_retry_count', form) ?? 0;
  return (
    <>
      <Panel title={t('sections.overlap')}>
        <Explained
          name="executor_block_strategy"
          label={t('fields.executor_block_strategy')}
          choices={BLOCKS}
          nameOf={(one) => t(`block.${one}.name`)}
          helpOf={(one) => t(`block.${one}.help`)}
        />
        {block === 'CONCURRENT' && (
          <Form.Item name="executor_concurrency" label={t('fields.executor_concurrency')}>
            <InputNumber min={1} max={64} className="form-number" />
          </Form.Item>
        )}
        {block !== 'CONCURRENT' && (
          <Explained
            name="overlap"
            label={t('fields.overlap')}
            choices={OVERLAPS}
            nameOf={(one) => t(`overlap.${one}.name`)}
            helpOf={(one) => t(`overlap.${one}.help`)}
          />
        )}
      </Panel>
      <Panel title={t('sections.limits')}>
        <div className="form-pair">
          <Form.Item name="executor_timeout" label={t('fields.executor_timeout')} extra={t('help.timeout')}>
            <InputNumber min={0} max={WEEK} suffix="s" className="form-number" />
          </Form.Item>
          <Form.Item name="lost_after" label={t('fields.lost_after')} extra={t('help.lost')}>
            <InputNumber min={0} max={WEEK} suffix="s" className="form-number" />
          </Form.Item>
        </div>
        <Form.Item
          name="executor_fail_retry_count"
          label={t('fields.executor_fail_retry_count')}
          extra={t('help.retries')}
        >
          <InputNumber min={0} max={100} className="form-number" />
        </Form.Item>
        {retries > 0 && (
          <Form.Item name="retry_policy" label={t('fields.retry_policy')}>
            <RetryPolicyField />
          </Form.Item>
        )}
      </Panel>
    </>
  );
}
