import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Form, Input, type TableColumnsType } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { useGroups } from '@/api/groups';
import { useMay } from '@/api/session';
import { type Secret, secretsQuery } from '@/pages/admin/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { ClearableSelect } from '@/parts/clearable';
import { EmptyState } from '@/parts/EmptyState';
import { FormDialog } from '@/parts/FormDialog';
import { DataTable } from '@/parts/table/DataTable';
import { Instant } from '@/parts/time/Instant';

/** Values that jobs get and nobody reads: they can be written and removed here, never shown. */
export function Secrets() {
  const { t } = useTranslation('admin');
  const groups = useGroups();
  const list = useInfiniteQuery(secretsQuery);
  const columns: TableColumnsType<Secret> = [
    { title: t('secrets.name'), key: 'name', render: (_, one) => <span className="mono cell-main">{one.name}</span> },
    {
      title: t('secrets.group'),
      key: 'group',
      render: (_, one) =>
        one.job_group === null ? <span className="muted">{t('secrets.everyGroup')}</span> : groups.name(one.job_group),
    },
    { title: t('secrets.version'), key: 'version', align: 'right', dataIndex: 'version' },
    { title: t('secrets.updated'), key: 'updated', render: (_, one) => <Instant at={one.updated_at} /> },
    { title: t('secrets.by'), key: 'by', dataIndex: 'updated_by' },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, one) => <SecretActions secret={one} />,
    },
  ];
  return (
    <>
      <div className="part-bar">
        <p className="muted">{t('secrets.intro')}</p>
        <AddSecret />
      </div>
      <DataTable<Secret>
        label={t('tabs.secrets')}
        list={list}
        columns={columns}
        rowKey="id"
        empty={<EmptyState title={t('secrets.empty')}>{t('secrets.emptyHint')}</EmptyState>}
      />
    </>
  );
}

interface Written {
  name: string;
  value: string;
  job_group?: number | null;
}

async function write({ name, value, job_group }: Written): Promise<void> {
  const params = { path: { name }, query: job_group ? { job_group } : {} };
  await got(api.PUT('/api/v1/secrets/{name}', { params, body: { value } }));
}

function AddSecret() {
  const { t } = useTranslation('admin');
  const may = useMay();
  const groups = useGroups();
  const queries = useQueryClient();
  const everywhere = may('administer');
  const options = groups.all
    .filter((one) => may('administer', one.id))
    .map((one) => ({ value: one.id, label: one.title || one.app_name }));
  return (
    <FormDialog<Written>
      label={t('secrets.add')}
      title={t('secrets.addTitle')}
      confirm={t('secrets.add')}
      button={{ type: 'primary' }}
      act={async (written) => {
        await write(written);
        await queries.invalidateQueries({ queryKey: ['people'] });
        return t('secrets.written', { name: written.name });
      }}
    >
      <Form.Item
        name="name"
        label={t('secrets.name')}
        extra={t('secrets.nameHint')}
        rules={[
          { required: true, message: t('required') },
          { pattern: /^[A-Z][A-Z0-9_]{0,63}$/, message: t('notAName') },
        ]}
      >
        <Input className="mono" maxLength={64} autoComplete="off" />
      </Form.Item>
      <Form.Item
        name="job_group"
        label={t('secrets.group')}
        rules={everywhere ? [] : [{ required: true, message: t('required') }]}
      >
        <ClearableSelect placeholder={everywhere ? t('secrets.everyGroup') : undefined} options={options} />
      </Form.Item>
      <ValueField />
    </FormDialog>
  );
}

function ValueField() {
  const { t } = useTranslation('admin');
  return (
    <Form.Item name="value" label={t('secrets.value')} rules={[{ required: true, message: t('required') }]}>
      <Input.Password autoComplete="new-password" />
    </Form.Item>
  );
}

function SecretActions({ secret }: { secret: Secret }) {
  const { t } = useTranslation('admin');
  const may = useMay();
  const queries = useQueryClient();
  const { name, job_group } = secret;
  const small = { size: 'small', type: 'text' } as const;
  const look = () => queries.invalidateQueries({ queryKey: ['people'] });
  if (!may('administer', job_group ?? undefined)) return null;
  return (
    <span className="row-actions">
      <FormDialog<{ value: string }>
        label={t('secrets.replace')}
        title={t('secrets.replaceTitle', { name })}
        confirm={t('secrets.replace')}
        button={small}
        act={async ({ value }) => {
          await write({ name, value, job_group });
          await look();
          return t('secrets.written', { name });
        }}
      >
        <p>{t('secrets.replaceText')}</p>
        <ValueField />
      </FormDialog>
      <ConfirmAction
        label={t('secrets.remove')}
        title={t('secrets.removeTitle', { name })}
        confirm={t('secrets.remove')}
        danger
        button={small}
        act={async () => {
          const params = { path: { name }, query: job_group ? { job_group } : {} };
          await got(api.DELETE('/api/v1/secrets/{name}', { params }));
          await look();
          return t('secrets.removed', { name });
        }}
      >
        <p>{t('secrets.removeText')}</p>
      </ConfirmAction>
    </span>
  );
}
