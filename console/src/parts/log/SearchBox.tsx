import { ArrowDownOutlined, ArrowUpOutlined, SearchOutlined } from '@ant-design/icons';
import { Button, Input, type InputRef, Tooltip } from 'antd';
import { type Ref, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CLEARABLE } from '@/parts/clearable';
import type { Query, SearchState } from '@/parts/log/LogSearch';
import { useSaid } from '@/parts/ProblemNotice';

interface Props {
  ref: Ref<InputRef>;
  /** Whether only lines of some levels are looked through. */
  within: boolean;
  state: SearchState;
  /** The place of the current match among them, from 0; -1 for none. */
  current: number;
  onSearch: (query: Query | null) => void;
  onStep: (direction: 1 | -1) => void;
}

/** Looks through the whole log, or what is shown of it. Enter searches, then goes on to the next; with Shift to the previous. */
export function SearchBox({ ref, within, state, current, onSearch, onStep }: Props) {
  const { t } = useTranslation('log');
  const { query } = state;
  const [text, setText] = useState(query?.text ?? '');
  const [regex, setRegex] = useState(query?.regex ?? false);
  const [exact, setExact] = useState(query ? !query.ignoreCase : false);
  const asked = useRef(query);
  useEffect(() => {
    if (same(query, asked.current)) return;
    asked.current = query; // by the address: somebody went back
    setText(query?.text ?? '');
    setRegex(query?.regex ?? false);
    setExact(query ? !query.ignoreCase : false);
  }, [query]);

  function search(wanted: Query | null) {
    if (same(wanted, query)) return;
    asked.current = wanted;
    onSearch(wanted);
  }
  const name = t(within ? 'search.within' : 'search.label');

  function go(direction: 1 | -1, changed: Partial<Query> = {}) {
    const wanted = { text, regex, ignoreCase: !exact, ...changed };
    if (!wanted.text) search(null);
    else if (same(wanted, query)) onStep(direction);
    else search(wanted);
  }

  return (
    <search className="log-search">
      <Input
        ref={ref}
        size="small"
        className="log-search-text"
        prefix={<SearchOutlined />}
        value={text}
        maxLength={500}
        allowClear={CLEARABLE}
        placeholder={name}
        aria-label={name}
        onChange={(event) => {
          setText(event.target.value);
          if (!event.target.value) search(null);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
          if (event.key === 'Escape' && text) {
            event.stopPropagation();
            setText('');
            search(null);
          }
        }}
      />
      <Mode
        name={t('search.exact')}
        sign="Aa"
        on={exact}
        onClick={() => {
          setExact(!exact);
          if (query) go(1, { ignoreCase: exact });
        }}
      />
      <Mode
        name={t('search.regex')}
        sign=".*"
        on={regex}
        onClick={() => {
          setRegex(!regex);
          if (query) go(1, { regex: !regex });
        }}
      />
      <Outcome state={state} current={current} />
      <span className="log-steps">
        <Button
          size="small"
          type="text"
          icon={<ArrowUpOutlined />}
          aria-label={t('search.previous')}
          disabled={state.matches.length === 0}
          onClick={() => onStep(-1)}
        />
        <Button
          size="small"
          type="text"
          icon={<ArrowDownOutlined />}
          aria-label={t('search.next')}
          disabled={state.matches.length === 0}
          onClick={() => onStep(1)}
        />
      </span>
    </search>
  );
}

function Mode({ name, sign, on, onClick }: { name: string; sign: string; on: boolean; onClick: () => void }) {
  return (
    <Tooltip title={name}>
      <Button size="small" type={on ? 'primary' : 'text'} aria-label={name} aria-pressed={on} onClick={onClick}>
        <span className="mono">{sign}</span>
      </Button>
    </Tooltip>
  );
}

/** `3 of 17`, or, while it goes on, so far; more than anybody goes through have a plus. */
function Outcome({ state, current }: { state: SearchState; current: number }) {
  const { t, i18n } = useTranslation('log');
  const said = useSaid(state.error);
  if (!state.query) return null;
  if (state.error)
    return (
      <span className="log-outcome log-outcome-error" role="alert">
        {said.title}
      </span>
    );
  const count = state.matches.length;
  const goesOn = state.busy && !state.caughtUp;
  const more = !state.end && count > 0 && !goesOn ? '+' : '';
  const total = `${new Intl.NumberFormat(i18n.language).format(count)}${more}`;
  return (
    <output className="log-outcome">
      {count === 0
        ? goesOn
          ? t('search.busy')
          : t('search.none')
        : current < 0
          ? t(goesOn ? 'search.foundSoFar' : 'search.found', { total })
          : t(goesOn ? 'search.placeSoFar' : 'search.place', { place: current + 1, total })}
      {state.lacking && ` (${t('search.lacking')})`}
    </output>
  );
}

function same(one: Query | null, other: Query | null): boolean {
  if (!one || !other) return one === other;
  return one.text === other.text && one.regex === other.regex && one.ignoreCase === other.ignoreCase;
}
