// The log of an execution: live, searched on the server, and of any length.

import { type InputRef, Skeleton } from 'antd';
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { usePreference } from '@/app/preferences';
import type { Fate } from '@/parts/log/ending';
import { LevelLines } from '@/parts/log/LevelLines';
import { LogFoot, NoLines } from '@/parts/log/LogFoot';
import { type LinesHandle, LogLines } from '@/parts/log/LogLines';
import { LogToolbar } from '@/parts/log/LogToolbar';
import { useLogFilters } from '@/parts/log/logFilters';
import { SearchBox } from '@/parts/log/SearchBox';
import { copyLines, saveMatches } from '@/parts/log/saving';
import { unseenOf } from '@/parts/log/unseen';
import { useFinding } from '@/parts/log/useFinding';
import { useLog } from '@/parts/log/useLog';
import { useReading, useShowingAll, useStamp } from '@/parts/log/useReading';
import { WholeLine } from '@/parts/log/WholeLine';
import { NotUnderstood } from '@/parts/NotUnderstood';
import './log.css';

interface Props {
  executionId: number;
  /** When the execution began, for times that count from there. */
  startTime: string | null;
  fate: Fate;
  fullScreen?: boolean;
  /** It is not what the page is about: what is searched for is not in the address. */
  apart?: boolean;
}

export function LogViewer({ executionId, startTime, fate, fullScreen = false, apart = false }: Props) {
  const { t } = useTranslation('log');
  const log = useLog(executionId);
  const lines = useRef<LinesHandle>(null);
  const input = useRef<InputRef>(null);
  const { query, levels, strange, search, show, address } = useLogFilters(apart);
  const { showAll, left } = useShowingAll(levels, show);
  const reading = useReading(log, lines, showAll);
  const { marked, place, moves, goTo, setFollowing } = reading;
  const found = useFinding(log, query, levels, reading);
  const [whole, setWhole] = useState<number | null>(null);
  const [wrap] = usePreference('logWrap');
  const unseen = unseenOf(reading.seenTo, log.book.last, levels.length > 0 ? found.state.matches : null);
  const stamp = useStamp(startTime);
  const over = log.stream.state.kind === 'over';

  async function toFirstError(): Promise<boolean> {
    const before = moves.current;
    const error = await log.firstError();
    if (error && moves.current === before) goTo(error.line);
    return error !== null;
  }

  const toEnd = () => (over ? goTo(log.book.last) : setFollowing(true));

  /** The browser's own way to either end does not arrive there while lines come. */
  function onKeyDown(event: KeyboardEvent) {
    const inLines =
      levels.length === 0 && event.target instanceof HTMLElement && event.target.closest('.log-lines') !== null;
    if (inLines && (event.key === 'Home' || event.key === 'End')) {
      event.preventDefault();
      return event.key === 'Home' ? goTo(1) : toEnd();
    }
  }
  useSearchKey(input);

  const { hrefOf, point: onNumber } = reading;
  const { search: sought, places } = found;
  const shown = { log, label: t('label'), wrap, stamp, search: sought, places, hrefOf, onNumber, onWhole: setWhole };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only listens for keys from what is inside
    <div className={fullScreen ? 'log-viewer log-full' : 'log-viewer'} onKeyDown={onKeyDown}>
      <LogToolbar
        executionId={executionId}
        levels={levels}
        onLevels={show}
        following={over || !log.state.opened ? null : reading.following}
        onFollow={() => setFollowing(!reading.following)}
        onStart={() => goTo(1)}
        onEnd={toEnd}
        onFirstError={toFirstError}
        onCopy={() => copyLines(log, levels, found.state.query, place.current)}
        onSaveShown={levels.length > 0 || found.state.query ? () => saveMatches(log, levels, found.state.query) : null}
        fullScreen={fullScreen}
        filters={address}
        search={
          <SearchBox
            ref={input}
            within={levels.length > 0}
            state={found.state}
            current={found.current}
            onSearch={search}
            onStep={found.step}
          />
        }
      />
      <div className="log-body">
        {strange.names.length > 0 ? (
          <NotUnderstood {...strange} />
        ) : log.book.last === 0 ? (
          <div className="log-lines log-none">
            {log.state.opened || log.state.error ? (
              <NoLines log={log} fate={fate} error={log.state.error} />
            ) : (
              <Skeleton active title={false} paragraph={{ rows: 6 }} />
            )}
          </div>
        ) : levels.length > 0 ? (
          <LevelLines
            {...shown}
            ref={lines}
            levels={levels}
            found={found.state}
            more={found.more}
            marked={marked}
            following={reading.following && !over}
            onFollow={(on) => !left.current && setFollowing(on)}
          />
        ) : (
          <LogLines
            key={wrap ? 'wrapped' : 'straight'}
            {...shown}
            ref={lines}
            following={reading.following && !over}
            onFollow={setFollowing}
            marked={marked}
            place={place}
          />
        )}
      </div>
      <LogFoot log={log} fate={fate} beyond={reading.beyond} unseen={unseen} onEnd={() => setFollowing(true)} />
      {whole !== null && <WholeLine log={log} line={whole} onClose={() => setWhole(null)} />}
    </div>
  );
}

/** The browser's own search sees only what is in view: its key leads to ours, from wherever one is but another field or
 * a dialog. Pressed again, it is the browser's. */
function useSearchKey(input: RefObject<InputRef | null>): void {
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'f' || !(event.ctrlKey || event.metaKey)) return;
      if (event.target instanceof Element && event.target.closest(ELSEWHERE)) return;
      event.preventDefault();
      input.current?.focus({ cursor: 'all' });
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [input]);
}

const ELSEWHERE = 'input, textarea, [contenteditable="true"], [role="dialog"]';
