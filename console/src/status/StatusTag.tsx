import { Popover } from 'antd';
import { type KeyboardEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Execution, Status } from '@/api/types';
import { StatusDetails } from '@/status/StatusDetails';
import { LOOKS } from '@/status/statuses';
import './status.css';

interface LabelProps {
  status: Status;
  triggerCode: number;
  handleCode: number;
}

/** `Success 200/200`: the word in the language of the page, the codes as they are. */
export function StatusLabel({ status, triggerCode, handleCode }: LabelProps) {
  const { t } = useTranslation('status');
  const look = LOOKS[status];
  const kind = `${look.outlined ? ' status-outlined' : ''}${look.moving ? ' status-moving' : ''}`;
  return (
    <span className={`status-tag status-${look.colour}${kind}`} data-status={status}>
      {look.icon}
      <span>
        {t(`name.${status}`)} {triggerCode}/{handleCode}
      </span>
    </span>
  );
}

/** The tag of an execution. A click, Enter or Space shows the raw messages behind it; Esc closes them. */
export function StatusTag({ execution }: { execution: Execution }) {
  const { t } = useTranslation('status');
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Escape' || !open) return;
    event.stopPropagation();
    setOpen(false);
    button.current?.focus();
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only listens for Esc from what is inside
    <span onKeyDown={onKeyDown}>
      <Popover
        open={open}
        onOpenChange={setOpen}
        trigger="click"
        placement="bottomLeft"
        destroyOnHidden
        autoAdjustOverflow
        content={
          // biome-ignore lint/a11y/noStaticElementInteractions: the same, for the popover is not inside the element above
          <div onKeyDown={onKeyDown}>
            <StatusDetails execution={execution} />
          </div>
        }
      >
        <button
          ref={button}
          type="button"
          className="status-button"
          aria-haspopup="dialog"
          aria-expanded={open}
          aria-description={t('details')}
        >
          <StatusLabel
            status={execution.status}
            triggerCode={execution.trigger_code}
            handleCode={execution.handle_code}
          />
        </button>
      </Popover>
    </span>
  );
}
