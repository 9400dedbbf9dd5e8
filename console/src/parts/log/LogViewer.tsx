// The log of an execution: live, searched on the server, and of any length.

import { type InputRef, Modal, Skeleton } from 'antd';
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useHref, useLocation, useNavigate } from 'react-router';
import { usePreference } from '@/app/preferences';
import { copyText } from '@/parts/copyText';
import { LevelLines } from '@/parts/log/LevelLines';
import type { Log } from '@/parts/log/Log';
import { LogFoot, NoLines } from '@/parts/log/LogFoot';
import { type LinesHandle, LogLines } from '@/parts/log/LogLines';
import { Pieces } from '@/parts/log/LogRow';
import { matchFrom } from '@/parts/log/LogSearch';
import { LogToolbar } from '@/parts/log/LogToolbar';
import { type Level, levelExpression, levelOf } from '@/parts/log/lines';
import { SearchBox } from '@/parts/log/SearchBox';
import { allMatches, clean, linesFrom, saveText } from '@/parts/log/saving';
import { searchFor } from '@/parts/log/segments';
import { stampFormat } from '@/parts/log/stamps';
import { useLog, useLogSearch } from '@/parts/log/useLog';
import { useDisplayZone } from '@/parts/time/Instant';
import './log.css';

interface Props {
  executionId: number;
  /** When the execution began, for times that count from there. */
  startTime: string | null;
  fullScreen?: boolean;
}

const MATCHES_AT_ONCE = 1_000;

export function LogViewer({ executionId, startTime, fullScreen = false }: Props) {
  const { t } = useTranslation('log');
  const log = useLog(executionId);
  const lines = useRef<LinesHandle>(null);
  const input = useRef<InputRef>(null);
  const { target, mark, hrefOf } = useLineLinks();
  const [startAt] = useState(target);
  const [marked, setMarked] = useState(target);
  const [levels, setLevels] = useState<Level[]>([]);
  const [whole, setWhole] = useState<number | null>(null);
  const follow = useFollowing(log, startAt === null);
  const [wrap] = usePreference('logWrap');
  const stamp = useStamp(startTime);

  const goTo = useCallback(
    (line: number) => {
      follow.set(false);
      setMarked(line);
      lines.current?.goTo(line);
    },
    [follow.set],
  );
  const found = useFinding(log, lines, marked, goTo);
  useEffect(() => {
    if (target !== null) goTo(target);
  }, [target, goTo]);

  function onNumber(line: number) {
    setLevels([]);
    setMarked(line);
    mark(line);
  }

  async function firstError(): Promise<boolean> {
    const error = await log.firstError();
    if (!error) return false;
    setLevels([]);
    requestAnimationFrame(() => goTo(error.line));
    return true;
  }

  async function copy(): Promise<number> {
    const query = { text: levelExpression(levels), regex: true, ignoreCase: false };
    const texts =
      levels.length > 0
        ? (await allMatches((...asked) => log.search(...asked), query))
            .map((match) => match.text)
            .filter((text) => levels.includes(levelOf(text)))
        : await linesFrom((from, limit) => log.page(from, limit), copyFrom(log, lines.current), log.book.last);
    if (!(await copyText(texts.map(clean).join('\n')))) throw new Error('The clipboard took nothing.');
    return texts.length;
  }

  async function saveShown() {
    const query = found.state.query ?? { text: levelExpression(levels), regex: true, ignoreCase: false };
    const matches = await allMatches((...asked) => log.search(...asked), query);
    const shown = levels.length > 0 ? matches.filter((match) => levels.includes(levelOf(match.text))) : matches;
    saveText(`execution-${executionId}-part.log`, `${shown.map((match) => match.text).join('\n')}\n`);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'f' || !(event.ctrlKey || event.metaKey) || input.current?.input === document.activeElement)
      return;
    event.preventDefault();
    input.current?.focus({ cursor: 'all' });
  }

  const shared = { log, label: t('label'), wrap, stamp, search: found.expression, hrefOf, onNumber, onWhole: setWhole };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only listens for Ctrl+F from what is inside
    <div className={fullScreen ? 'log-viewer log-full' : 'log-viewer'} onKeyDown={onKeyDown}>
      <LogToolbar
        executionId={executionId}
        levels={levels}
        onLevels={setLevels}
        following={log.stream.state.kind === 'over' ? null : follow.following}
        onFollow={() => follow.set(!follow.following)}
        onStart={() => goTo(1)}
        onEnd={() => (log.stream.state.kind === 'over' ? goTo(log.book.last) : follow.set(true))}
        onFirstError={firstError}
        onCopy={copy}
        onSaveShown={levels.length > 0 || found.state.query ? saveShown : null}
        fullScreen={fullScreen}
        search={
          <SearchBox
            ref={input}
            state={found.state}
            current={found.current}
            onSearch={found.start}
            onStep={found.step}
          />
        }
      />
      <div className="log-body">
        {log.book.last === 0 ? (
          <div className="log-lines log-none">
            {log.state.opened || log.state.error ? (
              <NoLines log={log} error={log.state.error} />
            ) : (
              <Skeleton active title={false} paragraph={{ rows: 6 }} />
            )}
          </div>
        ) : levels.length > 0 ? (
          <LevelLines {...shared} levels={levels} />
        ) : (
          <LogLines
            {...shared}
            ref={lines}
            following={follow.following && log.stream.state.kind !== 'over'}
            onFollow={follow.set}
            marked={marked}
            startAt={marked}
          />
        )}
      </div>
      <LogFoot log={log} unseen={follow.unseen} onEnd={() => follow.set(true)} />
      {whole !== null && <WholeLine log={log} line={whole} onClose={() => setWhole(null)} />}
    </div>
  );
}

/** Where a copy begins: of a log that is too long for a clipboard, at what is in view. */
function copyFrom(log: Log, lines: LinesHandle | null): number {
  return log.book.last <= 10_000 ? 1 : (lines?.firstInView() ?? 1);
}

/** A link to a line is the address of the page and `#L120`. */
function useLineLinks() {
  const location = useLocation();
  const navigate = useNavigate();
  const here = useHref({ pathname: location.pathname, search: location.search });
  const found = /^#L([1-9]\d{0,9})$/.exec(location.hash)?.[1];
  const hrefOf = useCallback((line: number) => `${here}#L${line}`, [here]);
  const mark = useCallback(
    (line: number) => void navigate({ search: location.search, hash: `#L${line}` }, { replace: true }),
    [navigate, location.search],
  );
  return { target: found ? Number(found) : null, mark, hrefOf };
}

/** Whether the end is kept in view, and how much came since it is not. */
function useFollowing(log: Log, atFirst: boolean) {
  const [following, setFollowing] = useState(atFirst);
  const [seen, setSeen] = useState(0);
  const set = useCallback(
    (on: boolean) => {
      setSeen(log.book.last);
      setFollowing(on);
    },
    [log],
  );
  const unseen = following || seen === 0 ? 0 : Math.max(0, log.book.last - seen);
  return { following, set, unseen };
}

function useStamp(startTime: string | null) {
  const [stamps] = usePreference('logStamps');
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  const since = startTime === null ? null : Date.parse(startTime);
  return useMemo(() => stampFormat(stamps, since, language, zone), [stamps, since, language, zone]);
}

/** A search and one's way through what it finds. */
function useFinding(
  log: Log,
  lines: { current: LinesHandle | null },
  marked: number | null,
  goTo: (line: number) => void,
) {
  const search = useLogSearch(log, MATCHES_AT_ONCE);
  const { state } = search;
  const { query, matches } = state;
  const arrived = useRef(true);
  const expression = useMemo(() => query && searchFor(query.text, query.regex, query.ignoreCase), [query]);
  useEffect(() => {
    if (arrived.current || matches.length === 0) return;
    arrived.current = true;
    const from = (lines.current?.firstInView() ?? 1) - 1;
    const match = matches[matchFrom(matches, from, 1)];
    if (match) goTo(match.line);
  }, [matches, goTo, lines]);
  const behind =
    !!query && !state.busy && !state.end && matches.length < MATCHES_AT_ONCE && log.book.last > state.toLine;
  useEffect(() => {
    if (!behind) return;
    const timer = setTimeout(() => search.more(), 1_000);
    return () => clearTimeout(timer);
  }, [behind, search]);
  return {
    state,
    expression,
    current: matches.findIndex((match) => match.line === marked),
    start: (wanted: typeof query) => {
      arrived.current = false;
      search.start(wanted);
    },
    step: (direction: 1 | -1) => {
      const index = matchFrom(matches, marked ?? 0, direction);
      const match = matches[index];
      if (match) goTo(match.line);
      if (index === matches.length - 1 && !state.end) search.more();
    },
  };
}

/** A line that is too long to be shown among the others. */
function WholeLine({ log, line, onClose }: { log: Log; line: number; onClose: () => void }) {
  const { t } = useTranslation('log');
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    let current = true;
    void log.page(line, 1).then((page) => current && setText(page.content));
    return () => {
      current = false;
    };
  }, [log, line]);
  return (
    <Modal open title={t('line', { number: line })} width="80vw" footer={null} onCancel={onClose}>
      {text === null ? (
        <Skeleton active title={false} />
      ) : (
        <pre
          className="log-whole"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
          tabIndex={0}
        >
          <Pieces text={text} search={null} />
        </pre>
      )}
    </Modal>
  );
}
