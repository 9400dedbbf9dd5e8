import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useNavigate, useSearchParams } from 'react-router';
import { Problem } from '@/api/problem';
import { signInByLink } from '@/api/session';
import { LanguageChoice, ThemeChoice } from '@/app/choices';
import { Logo } from '@/app/Logo';
import { landingPage } from '@/app/landing';
import { SignInForm } from '@/app/SignInForm';
import { CopyButton } from '@/parts/CopyButton';
import { ProblemNotice, useKnownProblems } from '@/parts/ProblemNotice';
import { useTitle } from '@/parts/useTitle';
import './login.css';

const NEW_LINK = 'orth login --link';

interface Arrived {
  from?: string;
  link?: string;
}

/** Sign in by password, or by the one-time link one came with. */
export function Login() {
  const { t } = useTranslation('login');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { from, link } = (useLocation().state ?? {}) as Arrived;
  const refused = useRefusal();
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(link !== undefined);
  const taken = useRef(false);

  useTitle(t('title'));

  useEffect(() => {
    if (!link || taken.current) return;
    taken.current = true; // it works once
    signInByLink(queries, link)
      .then(() => navigate(landingPage(), { replace: true }))
      .catch(setError)
      .finally(() => setBusy(false));
  }, [link, queries, navigate]);

  return (
    <div className="login">
      <header className="login-choices">
        <LanguageChoice />
        <ThemeChoice />
      </header>
      <main className="login-card">
        <div className="login-brand">
          <Logo size={40} />
          <div>
            <h1>Orth</h1>
            <p className="muted">{t('intro')}</p>
          </div>
        </div>
        {busy && link && <p role="status">{t('byLink')}</p>}
        {(error ?? refused) !== null && <ProblemNotice error={error ?? refused} />}
        {/* The start page is theirs, and known when they are signed in. */}
        <SignInForm
          from={from ?? landingPage()}
          disabled={busy}
          done={() => navigate(from ?? landingPage(), { replace: true })}
        />
        <section className="login-first">
          <h2>{link && error !== null ? t('linkFailed') : t('firstTime')}</h2>
          <p className="muted">{link && error !== null ? t('linkHint') : t('firstTimeHint')}</p>
          <div className="snippet">
            <pre>{NEW_LINK}</pre>
            <CopyButton text={NEW_LINK} />
          </div>
        </section>
      </main>
    </div>
  );
}

/** Why the sign-in of the organisation led nowhere, by the code it led back with; nothing for one we do not know. */
function useRefusal(): Problem | null {
  const code = useSearchParams()[0].get('refused');
  const { is } = useKnownProblems()(code, {});
  const type = 'urn:orth:problem:unauthenticated';
  return code && is ? new Problem({ type, title: 'Unauthenticated', status: 401, detail: is, code, facts: {} }) : null;
}
