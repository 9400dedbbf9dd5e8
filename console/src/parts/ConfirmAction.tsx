import { App, Button, type ButtonProps } from 'antd';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { HeldNote } from '@/live/HeldNote';
import { Dialog } from '@/parts/Dialog';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Props {
  label: string;
  title: string;
  /** What will happen, to what; asked for when the dialog opens. */
  children: ReactNode;
  confirm: string;
  danger?: boolean;
  /** Why it cannot be done at all. */
  impossible?: string;
  button?: ButtonProps;
  /** Told each time the dialog opens. */
  opened?: () => void;
  /** Told when somebody closes it, perhaps before the act is through. */
  closed?: () => void;
  /** Not yet, while what will happen is still being asked for. */
  ready?: boolean;
  /** Does it; the text that says what came of it. */
  act: () => Promise<string>;
}

/** A button whose action is named and confirmed first. A refusal stays in the dialog, with its reason. */
export function ConfirmAction({ ready = true, ...given }: Props) {
  const { label, title, children, confirm, danger, impossible, button, opened, closed, act } = given;
  const { t } = useTranslation('common');
  const { message } = App.useApp();
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  // Enter confirms what does no harm, and keeps from what cannot be undone.
  const confirms = ready && !danger;
  const buttons = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const [cancel, ok] = buttons.current?.querySelectorAll('button') ?? [];
    if (open && confirms && document.activeElement === cancel) ok?.focus(); // it could not have it before
  }, [open, confirms]);

  async function go() {
    setBusy(true);
    setError(null);
    try {
      message.success(await act());
      setOpen(false);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <Button
        {...button}
        danger={danger}
        {...(impossible && { disabled: true, title: impossible })}
        onClick={() => {
          setError(null);
          opened?.();
          setAsked(true);
          setOpen(true);
        }}
      >
        {label}
      </Button>
      {asked && ( // not before: every row of a list has one, and hardly any is ever opened
        <Dialog
          open={open}
          title={title}
          okText={confirm}
          cancelText={t('cancel')}
          okButtonProps={{ danger: !!danger, loading: busy, disabled: !ready, autoFocus: confirms }}
          cancelButtonProps={{ autoFocus: !confirms }}
          footer={(both) => (
            <span ref={buttons} className="dialog-buttons">
              {both}
            </span>
          )}
          onOk={go}
          onCancel={() => {
            closed?.();
            setOpen(false);
          }}
          destroyOnHidden
        >
          {children}
          <HeldNote />
          {error !== null && <ProblemNotice error={error} />}
        </Dialog>
      )}
    </>
  );
}
