import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Form, type TableColumnsType, Tag } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { AddToken } from '@/pages/admin/AddToken';
import { type Token, tokensQuery } from '@/pages/admin/queries';
import { isOver, stateOf } from '@/pages/admin/tokens';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { EmptyState } from '@/parts/EmptyState';
import { FormDialog } from '@/parts/FormDialog';
import { InputNumber } from '@/parts/InputNumber';
import { Mark } from '@/parts/Mark';
import { RoleTags } from '@/parts/roles';
import { type Once, ShownOnce } from '@/parts/ShownOnce';
import { DataTable } from '@/parts/table/DataTable';
import { Ago } from '@/parts/time/Ago';
import { useNow } from '@/parts/time/useNow';

/** What programs and executors show instead of a password. */
export function Tokens() {
  const { t } = useTranslation('admin');
  const [once, setOnce] = useState<Once | null>(null);
  const list = useInfiniteQuery(tokensQuery);
  const columns: TableColumnsType<Token> = [
    { title: t('tokens.name'), key: 'name', render: (_, token) => <NameCell token={token} /> },
    { title: t('tokens.scope'), key: 'scope', render: (_, token) => <ScopeCell token={token} /> },
    { title: t('tokens.by'), key: 'by', render: (_, token) => <MadeCell token={token} /> },
    { title: t('tokens.expires'), key: 'expires', render: (_, token) => <ExpiryCell token={token} /> },
    {
      title: t('tokens.used'),
      key: 'used',
      render: (_, token) =>
        token.last_used_at === null ? (
          <span className="muted">{t('tokens.never')}</span>
        ) : (
          <Ago at={token.last_used_at} />
        ),
    },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, token) => <TokenActions token={token} tell={setOnce} />,
    },
  ];
  return (
    <>
      <div className="part-bar">
        <p className="muted">{t('tokens.intro')}</p>
        <AddToken tell={setOnce} />
      </div>
      <DataTable<Token>
        label={t('tabs.tokens')}
        list={list}
        columns={columns}
        rowKey="id"
        empty={<EmptyState title={t('tokens.empty')}>{t('tokens.emptyHint')}</EmptyState>}
      />
      <ShownOnce once={once} close={() => setOnce(null)} />
    </>
  );
}

function NameCell({ token }: { token: Token }) {
  const { t } = useTranslation('admin');
  const state = stateOf(token, useNow());
  return (
    <>
      <span className="tags">
        <span className="cell-main">{token.name}</span>
        {state === 'revoked' && <Mark colour="red">{t('tokens.revoked')}</Mark>}
        {state === 'expired' && <Mark colour="orange">{t('tokens.expired')}</Mark>}
        {state === 'rotating' && <Mark colour="blue">{t('tokens.rotating')}</Mark>}
      </span>
      <div className="cell-sub mono">{token.secrets[0] && `${token.secrets[0].shown}…`}</div>
    </>
  );
}

function ScopeCell({ token }: { token: Token }) {
  const { t } = useTranslation('admin');
  if (token.kind === 'executor') {
    return (
      <span className="tags">
        <Mark colour="teal">{t('tokens.executor')}</Mark>
        {token.app_names.map((name) => (
          <Tag key={name}>{name}</Tag>
        ))}
        {token.networks.length > 0 && t('tokens.from', { networks: token.networks.join(', ') })}
      </span>
    );
  }
  const inGroups = Object.entries(token.group_roles).map(([group, role]) => ({ group_id: Number(group), role }));
  return <RoleTags everywhere={token.role} inGroups={inGroups} />;
}

function MadeCell({ token }: { token: Token }) {
  const { t } = useTranslation('admin');
  return (
    <>
      <span className="tags">
        {token.created_by}
        {token.owner_state === 'disabled' && <Mark colour="orange">{t('tokens.ownerDisabled')}</Mark>}
        {token.owner_state === 'removed' && <Mark colour="red">{t('tokens.ownerRemoved')}</Mark>}
      </span>
      <div className="cell-sub">
        <Ago at={token.created_at} />
      </div>
    </>
  );
}

function ExpiryCell({ token }: { token: Token }) {
  const { t } = useTranslation('admin');
  if (token.expires_at === null) return <span className="muted">{t('tokens.never')}</span>;
  return <Ago at={token.expires_at} />;
}

function TokenActions({ token, tell }: { token: Token; tell: (once: Once) => void }) {
  const { t } = useTranslation('admin');
  const queries = useQueryClient();
  const path = { token_id: token.id };
  const { name } = token;
  const small = { size: 'small', type: 'text' } as const;
  if (isOver(token, useNow())) return null;
  return (
    <span className="row-actions">
      <FormDialog<{ hours: number }>
        label={t('tokens.rotate')}
        title={t('tokens.rotateTitle', { name })}
        confirm={t('tokens.rotate')}
        button={small}
        initial={{ hours: 24 }}
        act={async ({ hours }) => {
          const body = { overlap: Math.round(hours * 3_600) };
          const made = await got(api.POST('/api/v1/tokens/{token_id}/rotate', { params: { path }, body }));
          await queries.invalidateQueries({ queryKey: ['people'] });
          tell({ title: t('tokens.tokenOf', { name }), text: made.token });
          return null;
        }}
      >
        <p>{t('tokens.rotateText')}</p>
        <Form.Item name="hours" label={t('tokens.overlap')} rules={[{ required: true, message: t('required') }]}>
          <InputNumber min={0} max={720} />
        </Form.Item>
      </FormDialog>
      <ConfirmAction
        label={t('tokens.revoke')}
        title={t('tokens.revokeTitle', { name })}
        confirm={t('tokens.revoke')}
        danger
        button={small}
        act={async () => {
          await got(api.DELETE('/api/v1/tokens/{token_id}', { params: { path } }));
          await queries.invalidateQueries({ queryKey: ['people'] });
          return t('tokens.revokedNow', { name });
        }}
      >
        <p>{t('tokens.revokeText')}</p>
      </ConfirmAction>
    </span>
  );
}
