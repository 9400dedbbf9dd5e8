import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, localeOf } from '@/app/App';
import { watchFiles } from '@/app/files';
import { preference } from '@/app/preferences';
import { startTexts } from '@/i18n/i18n';
import { NOT_LOADED } from '@/i18n/languages';
import '@/theme/global.css';

// The server writes a nonce into the page: styles made at run time carry it, and no other inline style is accepted.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

watchFiles();
const root = document.getElementById('root');
const language = preference('language');
try {
  const [locale] = await Promise.all([localeOf(language), startTexts()]);
  if (root) {
    createRoot(root).render(
      <StrictMode>
        <App nonce={nonce} first={locale} />
      </StrictMode>,
    );
  }
} catch {
  if (root) root.textContent = NOT_LOADED[language];
}
