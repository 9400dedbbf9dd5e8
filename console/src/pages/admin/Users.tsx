import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Form, Input, Switch, type TableColumnsType, Tag } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { useSession } from '@/api/session';
import { gotTagged } from '@/api/tagged';
import type { Role } from '@/api/types';
import { lastAdministrator } from '@/pages/admin/people';
import { type User, usersQuery } from '@/pages/admin/queries';
import { UserSessions } from '@/pages/admin/UserSessions';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { EmptyState } from '@/parts/EmptyState';
import { FormDialog } from '@/parts/FormDialog';
import { Mark } from '@/parts/Mark';
import { type GroupRole, RoleFields, RoleTags } from '@/parts/roles';
import { type Once, ShownOnce } from '@/parts/ShownOnce';
import { DataTable } from '@/parts/table/DataTable';
import { Instant } from '@/parts/time/Instant';

/** Who may sign in, and what they may. */
export function Users() {
  const { t } = useTranslation('admin');
  const [once, setOnce] = useState<Once | null>(null);
  const list = useInfiniteQuery(usersQuery);
  const last = list.hasNextPage ? null : lastAdministrator(list.data?.pages.flatMap(({ items }) => items) ?? []);
  const columns: TableColumnsType<User> = [
    { title: t('users.name'), key: 'name', render: (_, user) => <NameCell user={user} /> },
    {
      title: t('users.may'),
      key: 'may',
      render: (_, user) => <RoleTags everywhere={user.role as Role | null} inGroups={user.grants} />,
    },
    { title: t('users.created'), key: 'created', render: (_, user) => <Instant at={user.created_at} /> },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, user) => <UserActions user={user} stays={user === last} tell={setOnce} />,
    },
  ];
  return (
    <>
      <div className="part-bar">
        <p className="muted">{t('users.intro')}</p>
        <AddUser tell={setOnce} />
      </div>
      <DataTable<User>
        label={t('tabs.users')}
        list={list}
        columns={columns}
        rowKey="id"
        empty={<EmptyState title={t('users.empty')} />}
      />
      <ShownOnce once={once} close={() => setOnce(null)} />
    </>
  );
}

function NameCell({ user }: { user: User }) {
  const { t } = useTranslation('admin');
  const own = useSession()?.name === user.username;
  return (
    <span className="tags">
      <span className="cell-main">{user.username}</span>
      {own && <Tag>{t('users.you')}</Tag>}
      {user.disabled && <Mark colour="red">{t('users.disabled')}</Mark>}
    </span>
  );
}

interface NewUser {
  username: string;
  password?: string;
  role?: Role;
  groups?: GroupRole[];
}

function AddUser({ tell }: { tell: (once: Once) => void }) {
  const { t } = useTranslation('admin');
  const queries = useQueryClient();
  return (
    <FormDialog<NewUser>
      label={t('users.add')}
      title={t('users.addTitle')}
      confirm={t('users.add')}
      button={{ type: 'primary' }}
      act={async ({ username, password, role, groups = [] }) => {
        const body = { username, password: password || null, role: role ?? null, grants: groups };
        const made = await got(api.POST('/api/v1/users', { body }));
        await queries.invalidateQueries({ queryKey: ['people'] });
        if (!made.password) return t('users.added', { name: username });
        tell({ title: t('users.passwordOf', { name: username }), text: made.password });
        return null;
      }}
    >
      <Form.Item
        name="username"
        label={t('users.name')}
        extra={t('users.nameHint')}
        rules={[
          { required: true, message: t('required') },
          { pattern: /^[A-Za-z0-9][A-Za-z0-9._@+-]*$/, message: t('notAName') },
        ]}
      >
        <Input maxLength={50} autoComplete="off" />
      </Form.Item>
      <PasswordField />
      <RoleFields />
    </FormDialog>
  );
}

function PasswordField() {
  const { t } = useTranslation('admin');
  return (
    <Form.Item
      name="password"
      label={t('users.password')}
      extra={t('users.passwordHint')}
      rules={[{ min: 10, message: t('users.passwordShort') }]}
    >
      <Input.Password maxLength={1000} autoComplete="new-password" />
    </Form.Item>
  );
}

interface ActionsProps {
  user: User;
  /** Nobody else could let people in. */
  stays: boolean;
  tell: (once: Once) => void;
}

function UserActions({ user, stays, tell }: ActionsProps) {
  const { t } = useTranslation('admin');
  const queries = useQueryClient();
  const name = user.username;
  const own = useSession()?.name === name;
  const path = { user_id: user.id };
  const small = { size: 'small', type: 'text' } as const;
  return (
    <span className="row-actions">
      <EditUser user={user} />
      <FormDialog<{ password?: string }>
        label={t('users.reset')}
        title={t('users.resetTitle', { name })}
        confirm={t('users.reset')}
        button={small}
        act={async ({ password }) => {
          const body = { password: password || null };
          const made = await got(api.POST('/api/v1/users/{user_id}/password', { params: { path }, body }));
          if (!made.password) return t('users.resetDone', { name });
          tell({ title: t('users.passwordOf', { name }), text: made.password });
          return null;
        }}
      >
        <p>{t('users.resetText', { name })}</p>
        <PasswordField />
      </FormDialog>
      <UserSessions user={user} />
      <ConfirmAction
        label={t('users.remove')}
        {...(stays && { impossible: t('users.lastAdministrator') })}
        title={t('users.removeTitle', { name })}
        confirm={t('users.remove')}
        danger
        button={small}
        act={async () => {
          await got(api.DELETE('/api/v1/users/{user_id}', { params: { path } }));
          await queries.invalidateQueries({ queryKey: ['people'] });
          return t('users.removed', { name });
        }}
      >
        <p>{t('users.removeText', { name })}</p>
        {own && <p>{t('users.removeYourself')}</p>}
      </ConfirmAction>
    </span>
  );
}

interface Standing {
  role?: Role | null;
  groups: GroupRole[];
  enabled: boolean;
}

function EditUser({ user }: { user: User }) {
  const { t } = useTranslation('admin');
  const queries = useQueryClient();
  const path = { user_id: user.id };
  const etag = useRef('');
  return (
    <FormDialog<Standing>
      label={t('users.edit')}
      title={t('users.editTitle', { name: user.username })}
      confirm={t('save')}
      button={{ size: 'small', type: 'text' }}
      initial={async () => {
        const read = await gotTagged(api.GET('/api/v1/users/{user_id}', { params: { path } }));
        etag.current = read.etag;
        return { role: read.value.role as Role | null, groups: read.value.grants, enabled: !read.value.disabled };
      }}
      act={async ({ role, groups, enabled }) => {
        const params = { path, header: { 'if-match': etag.current } };
        const body = { role: role ?? null, grants: groups ?? [], disabled: !enabled };
        await got(api.PATCH('/api/v1/users/{user_id}', { params, body }));
        await queries.invalidateQueries({ queryKey: ['people'] });
        return t('users.changed', { name: user.username });
      }}
    >
      <Form.Item name="enabled" label={t('users.enabled')} extra={t('users.enabledHint')} valuePropName="checked">
        <Switch />
      </Form.Item>
      <RoleFields />
    </FormDialog>
  );
}
