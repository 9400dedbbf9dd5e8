import { cleanup, render, screen } from '@testing-library/react';
import { createInstance } from 'i18next';
import type { ComponentProps } from 'react';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import en from '@/i18n/locales/en/jobEditor.json';
import { CronField } from '@/pages/jobEditor/CronField';

afterEach(cleanup);

function shown(props: ComponentProps<typeof CronField>) {
  const i18n = createInstance();
  i18n.init({ lng: 'en', resources: { en: { jobEditor: en } }, initAsync: false });
  const page = (more: typeof props) => (
    <I18nextProvider i18n={i18n}>
      <CronField {...props} {...more} />
    </I18nextProvider>
  );
  const { rerender } = render(page({}));
  return { change: (more: typeof props) => rerender(page(more)) };
}

it('reads an expression with the zone on whose clock it is, and not while the server refuses it', async () => {
  const { change } = shown({ value: '0 0 8 * * ?', zone: 'Europe/Berlin' });
  expect(await screen.findByText('At 08:00, Europe/Berlin')).toBeDefined();
  change({ refused: true });
  expect(screen.queryByText(/08:00,/)).toBeNull();
  expect(screen.getByText(en.cron.hint)).toBeDefined();
  change({ zone: null });
  expect(screen.getByText('At 08:00')).toBeDefined();
}, 20_000); // the library of the words is loaded
