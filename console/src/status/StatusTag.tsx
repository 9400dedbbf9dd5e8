import { Popover } from 'antd';
import type { TooltipRef } from 'antd/es/tooltip';
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Execution, Status } from '@/api/types';
import { type Place, placeFor, placements } from '@/status/placing';
import { DetailsOf, StatusDetails } from '@/status/StatusDetails';
import { LOOKS, listedAs } from '@/status/statuses';
import './status.css';

interface LabelProps {
  status: Status;
  triggerCode: number;
  handleCode: number;
  /** It was taken back before it began. */
  cancelled?: boolean | undefined;
}

/** `Success 200/200`: the word in the language of the page, the codes as they are. */
export function StatusLabel({ status, triggerCode, handleCode, cancelled = false }: LabelProps) {
  const { t } = useTranslation('status');
  const listed = listedAs({ status, cancelled });
  const look = LOOKS[listed];
  const kind = `${look.outlined ? ' status-outlined' : ''}${look.moving ? ' status-moving' : ''}`;
  return (
    <span className={`status-tag status-${look.colour}${kind}`} data-status={status}>
      {look.icon}
      <span>
        {t(`name.${listed}`)} {triggerCode}/{handleCode}
      </span>
    </span>
  );
}

/** The tag of an execution. A click, Enter or Space shows the raw messages behind it; Esc closes them. */
export function StatusTag({ execution }: { execution: Execution }) {
  return (
    <Opening of={execution}>
      <StatusDetails execution={execution} />
    </Opening>
  );
}

/** The same where a list knows no more of an execution than its codes: what is behind them is asked for when it is opened. */
export function RunStatusTag({ run }: { run: Coded & { id: number } }) {
  return (
    <Opening of={run}>
      <DetailsOf id={run.id} />
    </Opening>
  );
}

type Coded = Pick<Execution, 'status' | 'trigger_code' | 'handle_code'> & { cancelled?: boolean };

function Opening({ of: one, children }: { of: Coded; children: ReactNode }) {
  const { t } = useTranslation('status');
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<TooltipRef>(null);
  const place = usePlace(button, open);
  useEffect(() => {
    if (place) popover.current?.forceAlign();
  }, [place]);

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
        ref={popover}
        open={open && place !== null}
        onOpenChange={setOpen}
        trigger="click"
        {...(place && { placement: place.side, builtinPlacements: placements(place) })}
        arrow={place?.shift[0] === 0 && place.shift[1] === 0}
        destroyOnHidden
        content={
          // biome-ignore lint/a11y/noStaticElementInteractions: the same, for the popover is not inside the element above
          <div
            className="status-popover"
            style={{ width: place?.width, maxHeight: place?.height }}
            onKeyDown={onKeyDown}
          >
            {children}
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
            status={one.status}
            triggerCode={one.trigger_code}
            handleCode={one.handle_code}
            cancelled={one.cancelled}
          />
        </button>
      </Popover>
    </span>
  );
}

/** Where there is room for it, as long as it is open: rows move, windows are scrolled and made smaller. */
function usePlace(button: RefObject<HTMLButtonElement | null>, open: boolean): Place | null {
  const [place, setPlace] = useState<Place | null>(null);
  useEffect(() => {
    if (!open) return setPlace(null);
    let [before, frame] = ['', 0];
    const look = () => {
      const { left, top, bottom } = button.current?.getBoundingClientRect() ?? { left: 0, top: 0, bottom: 0 };
      const room = { width: document.documentElement.clientWidth, height: window.innerHeight };
      const now = [left, top, bottom, room.width, room.height].join();
      if (now !== before) setPlace(placeFor({ left, top, bottom }, room));
      before = now;
      frame = requestAnimationFrame(look);
    };
    look();
    return () => cancelAnimationFrame(frame);
  }, [button, open]);
  return place;
}
