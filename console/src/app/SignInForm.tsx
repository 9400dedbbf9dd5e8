import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { address } from '@/api/base';
import { signIn, waysQuery } from '@/api/session';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Credentials {
  username: string;
  password: string;
}

interface Props {
  /** Where the sign-in of an organisation leads back to. */
  from: string;
  /** It is done in another tab, so that this one stays as it is. */
  inAnotherTab?: boolean;
  /** Who was here, and has only to say the password. */
  name?: string;
  disabled?: boolean;
  done?: () => Promise<void> | void;
}

/** By password, or by what the organisation has for it. */
export function SignInForm({ from, inAnotherTab, name, disabled, done }: Props) {
  const { t } = useTranslation('login');
  const queries = useQueryClient();
  const single = useQuery(waysQuery).data?.ways.includes('oidc') ?? false;
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  async function submit({ username, password }: Credentials) {
    setBusy(true);
    setError(null);
    try {
      await signIn(queries, username, password);
    } catch (reason) {
      setBusy(false);
      return setError(reason);
    }
    try {
      await done?.();
    } finally {
      setBusy(false);
    }
  }

  const required = [{ required: true, message: t('required') }];
  return (
    <>
      {error !== null && <ProblemNotice error={error} />}
      <Form<Credentials>
        layout="vertical"
        requiredMark={false}
        initialValues={{ username: name }}
        onFinish={submit}
        disabled={busy || !!disabled}
      >
        <Form.Item name="username" label={t('username')} rules={required}>
          <Input autoComplete="username" autoFocus={!name} maxLength={50} size="large" />
        </Form.Item>
        <Form.Item name="password" label={t('password')} rules={required}>
          <Input.Password autoComplete="current-password" maxLength={1000} size="large" />
        </Form.Item>
        <Button type="primary" htmlType="submit" block size="large" loading={busy}>
          {t('submit')}
        </Button>
      </Form>
      {single && (
        <Button
          block
          size="large"
          href={address(`/api/v1/auth/oidc/start?${new URLSearchParams({ next: from })}`)}
          {...(inAnotherTab && { target: '_blank', rel: 'noopener' })}
        >
          {t('single')}
        </Button>
      )}
    </>
  );
}
