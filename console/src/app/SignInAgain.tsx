import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { goOnAsOther, leave, type Session, signedInElsewhere } from '@/api/session';
import { whenSignedInElsewhere } from '@/api/tabs';
import { SignInForm } from '@/app/SignInForm';
import './login.css';

/**
 * Covers everything until somebody signs in. A dialog of the browser's own: it lies above every other one, and nothing
 * behind it can be seen, reached or read aloud.
 */
export function SignInAgain({ session: { name, other } }: { session: Session }) {
  const { t } = useTranslation('login');
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const cover = dialog.current;
    if (!cover || cover.open) return;
    cover.showModal();
    cover.querySelector<HTMLElement>('input[type=password]')?.focus(); // the name is there already
  }, []);
  useEffect(() => {
    // Somebody may have signed in in another tab; who cannot be asked is asked again.
    const look = () => void signedInElsewhere(queries).catch(() => {});
    look();
    window.addEventListener('focus', look);
    const stop = whenSignedInElsewhere(look);
    return () => {
      window.removeEventListener('focus', look);
      stop();
    };
  }, [queries]);
  return (
    <dialog
      ref={dialog}
      className="sign-in-again login-card"
      aria-labelledby="sign-in-again"
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <h1 id="sign-in-again">{t(other ? 'again.otherTitle' : 'again.title', { other })}</h1>
      <p className="muted">{t('again.text', { name })}</p>
      <SignInForm name={name} from="/" inAnotherTab />
      {other ? (
        <Button type="link" block onClick={() => void goOnAsOther(queries).catch(() => leave(queries))}>
          {t('again.asOther', { other })}
        </Button>
      ) : (
        <Button type="link" block onClick={() => leave(queries)}>
          {t('again.leave')}
        </Button>
      )}
    </dialog>
  );
}
