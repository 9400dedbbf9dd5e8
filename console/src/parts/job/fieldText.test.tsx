import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook } from '@testing-library/react';
import { createInstance } from 'i18next';
import type { ReactNode } from 'react';
import { I18nextProvider } from 'react-i18next';
import { expect, it } from 'vitest';
import jobEditor from '@/i18n/locales/en/jobEditor.json';
import { useFieldText } from '@/parts/job/fieldText';

it('says of no seconds what they mean, and what turns text around is spelled out', async () => {
  const i18n = createInstance();
  await i18n.init({ lng: 'en', resources: { en: { jobEditor } } });
  const queries = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <I18nextProvider i18n={i18n}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </I18nextProvider>
  );
  const text = renderHook(() => useFieldText(), { wrapper }).result.current;
  expect(text('executor_timeout', 0)).toBe('none');
  expect(text('lost_after', 0)).toBe('as the settings say');
  expect(text('executor_timeout', 90)).toBe(text('lost_after', 90));
  expect(text('executor_param', 'pay \u202e0001')).toBe('pay \\u202e0001');
});
