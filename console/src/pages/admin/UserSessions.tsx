import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Skeleton } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { type User, userSessionsQuery } from '@/pages/admin/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { Dialog } from '@/parts/Dialog';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { SessionList } from '@/parts/SessionList';

/** Where somebody is signed in, and a way to end that. */
export function UserSessions({ user }: { user: User }) {
  const { t } = useTranslation('admin');
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="small" type="text" onClick={() => setOpen(true)}>
        {t('users.sessions')}
      </Button>
      <Dialog
        open={open}
        title={t('users.sessionsOf', { name: user.username })}
        footer={null}
        onCancel={() => setOpen(false)}
        destroyOnHidden
      >
        {open && <Sessions user={user} />}
      </Dialog>
    </>
  );
}

function Sessions({ user }: { user: User }) {
  const { t } = useTranslation('admin');
  const queries = useQueryClient();
  const sessions = useQuery(userSessionsQuery(user.id));
  if (sessions.isPending) return <Skeleton active />;
  if (sessions.isError) return <ProblemNotice error={sessions.error} />;
  if (sessions.data.items.length === 0) return <p className="muted">{t('users.noSessions')}</p>;
  return (
    <>
      <SessionList sessions={sessions.data.items} />
      <ConfirmAction
        label={t('users.endSessions')}
        title={t('users.endSessionsTitle', { name: user.username })}
        confirm={t('users.endSessions')}
        danger
        act={async () => {
          const path = { user_id: user.id };
          const { ended } = await got(api.DELETE('/api/v1/users/{user_id}/sessions', { params: { path } }));
          await queries.invalidateQueries({ queryKey: ['people'] });
          return t('users.sessionsEnded', { count: ended });
        }}
      >
        <p>{t('users.endSessionsText', { name: user.username })}</p>
      </ConfirmAction>
    </>
  );
}
