import { useQuery, useQueryClient } from '@tanstack/react-query';
import { App, Button, Form, Input, Skeleton } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { api, got } from '@/api/client';
import { useSession } from '@/api/session';
import { ownSessionsQuery } from '@/pages/account/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { Page, Panel } from '@/parts/Page';
import { PermissionGate } from '@/parts/PermissionGate';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { RoleTags } from '@/parts/roles';
import { SessionList, type SessionShown } from '@/parts/SessionList';
import './account.css';

/** What belongs to the person who is signed in: their rights, their password and where they are signed in. */
export function Account() {
  const { t } = useTranslation('account');
  return (
    <Page title={t('title')} intro={t('intro')}>
      <div className="account">
        <Rights />
        <Password />
        <Sessions />
        <PermissionGate needs="administer">
          <Panel title={t('tokens.title')}>
            <p className="account-text">{t('tokens.text')}</p>
            <Link to="/admin/tokens">{t('tokens.open')}</Link>
          </Panel>
        </PermissionGate>
      </div>
    </Page>
  );
}

function Rights() {
  const { t } = useTranslation('account');
  const session = useSession();
  if (!session) return null;
  const { everywhere, inGroups } = session.rights;
  return (
    <Panel title={t('rights.title')}>
      <dl className="account-facts">
        <dt>{t('rights.name')}</dt>
        <dd>{session.name}</dd>
        <dt>{t('rights.may')}</dt>
        <dd>
          <RoleTags
            everywhere={everywhere}
            inGroups={Object.entries(inGroups).map(([group, role]) => ({ group_id: Number(group), role }))}
          />
        </dd>
      </dl>
    </Panel>
  );
}

interface Passwords {
  old_password: string;
  new_password: string;
  again: string;
}

function Password() {
  const { t } = useTranslation('account');
  const { message } = App.useApp();
  const queries = useQueryClient();
  const [form] = Form.useForm<Passwords>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const required = { required: true, message: t('password.required') };

  async function submit({ old_password, new_password }: Passwords) {
    setBusy(true);
    setError(null);
    try {
      const { ended } = await got(api.POST('/api/v1/auth/password', { body: { old_password, new_password } }));
      form.resetFields();
      await queries.invalidateQueries({ queryKey: ownSessionsQuery.queryKey });
      message.success(t('password.done', { count: ended }));
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Panel title={t('password.title')}>
      <Form<Passwords> form={form} layout="vertical" requiredMark={false} onFinish={submit} className="account-form">
        <Form.Item name="old_password" label={t('password.old')} rules={[required]}>
          <Input.Password maxLength={1000} autoComplete="current-password" />
        </Form.Item>
        <Form.Item
          name="new_password"
          label={t('password.new')}
          rules={[required, { min: 10, message: t('password.short') }]}
        >
          <Input.Password maxLength={1000} autoComplete="new-password" />
        </Form.Item>
        <Form.Item
          name="again"
          label={t('password.again')}
          dependencies={['new_password']}
          rules={[
            required,
            ({ getFieldValue }) => ({
              validator: (_, value) =>
                !value || value === getFieldValue('new_password')
                  ? Promise.resolve()
                  : Promise.reject(new Error(t('password.differs'))),
            }),
          ]}
        >
          <Input.Password maxLength={1000} autoComplete="new-password" />
        </Form.Item>
        {error !== null && <ProblemNotice error={error} />}
        <Button type="primary" htmlType="submit" loading={busy}>
          {t('password.change')}
        </Button>
      </Form>
    </Panel>
  );
}

function Sessions() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const sessions = useQuery(ownSessionsQuery);
  const look = () => queries.invalidateQueries({ queryKey: ownSessionsQuery.queryKey });
  const items = sessions.data?.items ?? [];
  const others = (
    <ConfirmAction
      label={t('sessions.endOthers')}
      title={t('sessions.endOthersTitle')}
      confirm={t('sessions.endOthers')}
      danger
      button={{ size: 'small' }}
      act={async () => {
        const { ended } = await got(api.DELETE('/api/v1/auth/sessions'));
        await look();
        return t('sessions.ended', { count: ended });
      }}
    >
      <p>{t('sessions.endOthersText')}</p>
    </ConfirmAction>
  );
  async function end(session: SessionShown): Promise<string> {
    const path = { session_id: session.id };
    await got(api.DELETE('/api/v1/auth/sessions/{session_id}', { params: { path } }));
    await look();
    return t('sessions.ended', { count: 1 });
  }
  return (
    <Panel title={t('sessions.title')} extra={items.length > 1 && others}>
      {sessions.isPending && <Skeleton active />}
      {sessions.isError && <ProblemNotice error={sessions.error} />}
      <SessionList
        sessions={items}
        action={(session) =>
          !session.current && (
            <ConfirmAction
              label={t('sessions.end')}
              title={t('sessions.endTitle')}
              confirm={t('sessions.end')}
              danger
              button={{ size: 'small', type: 'text' }}
              act={() => end(session)}
            >
              <p className="mono">{session.address}</p>
            </ConfirmAction>
          )
        }
      />
    </Panel>
  );
}
