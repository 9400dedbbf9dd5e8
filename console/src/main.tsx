import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, localeOf } from '@/app/App';
import { preference } from '@/app/preferences';
import { startTexts } from '@/i18n/i18n';
import '@/theme/global.css';

// The server writes a nonce into the page: styles made at run time carry it, and no other inline style is accepted.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

const [locale] = await Promise.all([localeOf(preference('language')), startTexts()]);
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App nonce={nonce} first={locale} />
    </StrictMode>,
  );
}
