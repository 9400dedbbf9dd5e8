import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { App } from 'antd';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { Login } from '@/app/Login';
import common from '@/i18n/locales/fr/common.json';
import login from '@/i18n/locales/fr/login.json';

async function opened(at: string): Promise<void> {
  const i18n = createInstance();
  const interpolation = { escapeValue: false };
  await i18n.init({ lng: 'fr', resources: { fr: { common, login } }, defaultNS: 'common', interpolation });
  vi.spyOn(api, 'GET').mockResolvedValue({ data: { ways: ['oidc'] }, response: Response.json({}) } as never);
  render(
    <I18nextProvider i18n={i18n}>
      <QueryClientProvider client={new QueryClient()}>
        <App>
          <MemoryRouter initialEntries={[at]}>
            <Login />
          </MemoryRouter>
        </App>
      </QueryClientProvider>
    </I18nextProvider>,
  );
}

afterEach(cleanup);

it('says why the sign-in of the organisation led nowhere', async () => {
  await opened('/login?refused=nobody_here');
  expect(screen.getByRole('alert').textContent).toContain('vous n’êtes personne ici.Demandez à un administrateur');
});

it('says nothing of a code it does not know', async () => {
  await opened('/login?refused=something');
  expect(screen.queryByRole('alert')).toBeNull();
});
