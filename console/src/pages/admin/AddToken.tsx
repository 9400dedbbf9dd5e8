import { useQueryClient } from '@tanstack/react-query';
import { Form, Input, Radio, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { useGroups } from '@/api/groups';
import type { Role } from '@/api/types';
import { FormDialog } from '@/parts/FormDialog';
import { InputNumber } from '@/parts/InputNumber';
import { type GroupRole, RoleFields } from '@/parts/roles';
import type { Once } from '@/parts/ShownOnce';

interface NewToken {
  kind: 'api' | 'executor';
  name: string;
  role?: Role;
  groups?: GroupRole[];
  app_names?: string[];
  networks?: string[];
  days?: number | null;
}

/** Make a token: for a program, with roles as a person has them, or for the executors of some groups. */
export function AddToken({ tell }: { tell: (once: Once) => void }) {
  const { t } = useTranslation('admin');
  const queries = useQueryClient();
  return (
    <FormDialog<NewToken>
      label={t('tokens.add')}
      title={t('tokens.addTitle')}
      confirm={t('tokens.add')}
      button={{ type: 'primary' }}
      initial={{ kind: 'api', days: 90 }}
      act={async ({ kind, name, role, groups = [], app_names = [], networks = [], days }) => {
        const scope =
          kind === 'executor'
            ? { app_names, networks, role: null, group_roles: {} }
            : { app_names: [], networks: [], role: role ?? null, group_roles: byGroup(groups) };
        const body = { kind, name, expires_in_days: days ?? null, ...scope };
        const made = await got(api.POST('/api/v1/tokens', { body }));
        await queries.invalidateQueries({ queryKey: ['people'] });
        tell({ title: t('tokens.tokenOf', { name }), text: made.token });
        return null;
      }}
    >
      <Form.Item name="kind" label={t('tokens.kind')}>
        <Radio.Group
          optionType="button"
          options={[
            { value: 'api', label: t('tokens.api') },
            { value: 'executor', label: t('tokens.executor') },
          ]}
        />
      </Form.Item>
      <Form.Item name="name" label={t('tokens.name')} rules={[{ required: true, message: t('required') }]}>
        <Input maxLength={64} placeholder={t('tokens.namePlaceholder')} />
      </Form.Item>
      <Scope />
      <Form.Item name="days" label={t('tokens.days')} extra={t('tokens.daysHint')}>
        <InputNumber min={1} max={36_500} />
      </Form.Item>
    </FormDialog>
  );
}

function Scope() {
  const { t } = useTranslation('admin');
  const groups = useGroups();
  if (Form.useWatch('kind') !== 'executor') return <RoleFields />;
  return (
    <>
      <Form.Item
        name="app_names"
        label={t('tokens.appNames')}
        extra={t('tokens.appNamesHint')}
        rules={[{ required: true, message: t('required') }]}
      >
        <Select mode="tags" options={groups.all.map((one) => ({ value: one.app_name, label: one.app_name }))} />
      </Form.Item>
      <Form.Item name="networks" label={t('tokens.networks')} extra={t('tokens.networksHint')}>
        <Select mode="tags" open={false} suffixIcon={null} placeholder="10.20.0.0/16" />
      </Form.Item>
    </>
  );
}

function byGroup(groups: GroupRole[]): Record<number, Role> {
  return Object.fromEntries(groups.map((one) => [one.group_id, one.role]));
}
