import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { App, Form, Input, type TableColumnsType, Tag } from 'antd';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { useMay } from '@/api/session';
import { gotTagged } from '@/api/tagged';
import { ChannelFields } from '@/pages/alarms/ChannelFields';
import { type ChannelForm, type ChannelKind, definitionOf, formOf, NEW_CHANNEL } from '@/pages/alarms/channelForm';
import { type Channel, channelsQuery } from '@/pages/alarms/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { EmptyState } from '@/parts/EmptyState';
import { FormDialog } from '@/parts/FormDialog';
import { PermissionGate } from '@/parts/PermissionGate';
import { useKnownProblems } from '@/parts/ProblemNotice';
import { DataTable } from '@/parts/table/DataTable';
import { duration } from '@/parts/time/format';

/** Where messages go. Jobs name channels; who may edit everywhere makes them. */
export function Channels() {
  const { t } = useTranslation('alarms');
  const may = useMay();
  const list = useInfiniteQuery(channelsQuery);
  const columns: TableColumnsType<Channel> = [
    {
      title: t('channels.name'),
      key: 'name',
      render: (_, one) => (
        <span className="tags">
          <span className="cell-main">{one.name}</span>
          {!one.enabled && <Tag>{t('channels.off')}</Tag>}
        </span>
      ),
    },
    { title: t('channels.kind'), key: 'kind', render: (_, one) => t(`channels.kinds.${one.kind as ChannelKind}`) },
    { title: t('channels.place'), key: 'place', render: (_, one) => <Place channel={one} /> },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, one) => (
        <PermissionGate needs="edit">
          <ChannelActions channel={one} />
        </PermissionGate>
      ),
    },
  ];
  return (
    <>
      <div className="part-bar">
        <p className="muted">{t('channels.intro')}</p>
        <PermissionGate needs="edit">
          <AddChannel />
        </PermissionGate>
      </div>
      <DataTable<Channel>
        label={t('tabs.channels')}
        list={list}
        columns={columns}
        rowKey="id"
        empty={
          <EmptyState title={t('channels.empty')}>
            {may('edit') ? t('channels.emptyHint') : t('channels.askForOne')}
          </EmptyState>
        }
      />
    </>
  );
}

/** Where it leads, as far as that may be shown. */
function Place({ channel: { kind, definition } }: { channel: Channel }) {
  const { url, urls, to, host } = definition as { url?: string; urls?: string[]; to?: string[]; host?: string | null };
  const places = kind === 'webhook' ? [url] : kind === 'apprise' ? urls : to?.length ? to : [host];
  return <span className="mono channel-place">{(places ?? []).filter(Boolean).join(', ') || '–'}</span>;
}

function AddChannel() {
  const { t } = useTranslation('alarms');
  const queries = useQueryClient();
  return (
    <FormDialog<ChannelForm>
      label={t('channels.add')}
      title={t('channels.add')}
      confirm={t('channels.add')}
      button={{ type: 'primary' }}
      width={620}
      initial={NEW_CHANNEL}
      act={async (form) => {
        const { name, kind, enabled } = form;
        const body = { name, kind, enabled, definition: definitionOf(form) };
        await got(api.POST('/api/v1/alarms/channels', { body }));
        await queries.invalidateQueries({ queryKey: ['alarms'] });
        return t('channels.saved', { name });
      }}
    >
      <ChannelFields stored={false} />
    </FormDialog>
  );
}

function ChannelActions({ channel }: { channel: Channel }) {
  const { t } = useTranslation('alarms');
  const queries = useQueryClient();
  const etag = useRef('');
  const path = { channel_id: channel.id };
  const { name } = channel;
  const small = { size: 'small', type: 'text' } as const;
  const look = () => queries.invalidateQueries({ queryKey: ['alarms'] });
  return (
    <span className="row-actions">
      <TryChannel channel={channel} />
      <FormDialog<ChannelForm>
        label={t('channels.edit')}
        title={t('channels.editTitle', { name })}
        confirm={t('channels.save')}
        button={small}
        width={620}
        initial={async () => {
          const read = await gotTagged(api.GET('/api/v1/alarms/channels/{channel_id}', { params: { path } }));
          etag.current = read.etag;
          return formOf(read.value);
        }}
        act={async (form) => {
          const params = { path, header: { 'if-match': etag.current } };
          const body = { name: form.name, kind: form.kind, enabled: form.enabled, definition: definitionOf(form) };
          await got(api.PUT('/api/v1/alarms/channels/{channel_id}', { params, body }));
          await look();
          return t('channels.saved', { name: form.name });
        }}
      >
        <ChannelFields stored />
      </FormDialog>
      <ConfirmAction
        label={t('channels.remove')}
        title={t('channels.removeTitle', { name })}
        confirm={t('channels.remove')}
        danger
        button={small}
        act={async () => {
          await got(api.DELETE('/api/v1/alarms/channels/{channel_id}', { params: { path } }));
          await look();
          return t('channels.removed', { name });
        }}
      >
        <p>{t('channels.removeText')}</p>
      </ConfirmAction>
    </span>
  );
}

/** Send one message now, and tell what its receiver says. */
function TryChannel({ channel }: { channel: Channel }) {
  const { t } = useTranslation('alarms');
  const { modal } = App.useApp();
  const known = useKnownProblems();
  const named = ((channel.definition as { to?: string[] }).to ?? []).length > 0;
  return (
    <FormDialog<{ to?: string }>
      label={t('trial.label')}
      title={t('trial.title', { name: channel.name })}
      confirm={t('trial.send')}
      button={{ size: 'small', type: 'text' }}
      act={async ({ to = '' }) => {
        const params = { path: { channel_id: channel.id } };
        const { ok, answer, seconds, code, facts } = await got(
          api.POST('/api/v1/alarms/channels/{channel_id}/test', { params, body: { to } }),
        );
        const title = t(ok ? 'trial.delivered' : 'trial.failed', { seconds: duration(seconds * 1_000) });
        modal[ok ? 'success' : 'error']({
          title,
          content: <p className="trial-answer">{known(code, facts).is ?? answer}</p>,
        });
        return null;
      }}
    >
      <p>{t('trial.text')}</p>
      {channel.kind === 'mail' && !named && (
        <Form.Item name="to" label={t('mail.to')} rules={[{ required: true, message: t('required') }]}>
          <Input maxLength={255} />
        </Form.Item>
      )}
    </FormDialog>
  );
}
