// The palette: find anything by a few letters and go there or do it, by keyboard alone.

import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { Confirming } from '@/app/palette/Confirming';
import { type Entry, type JobDeed, SECTIONS, type Section, useEntries } from '@/app/palette/entries';
import { best, match } from '@/app/palette/fuzzy';
import { Said } from '@/app/palette/Said';
import type { Typeahead } from '@/app/palette/Typeahead';
import { Dialog } from '@/parts/Dialog';

interface Props {
  open: boolean;
  close: () => void;
  showKeys: () => void;
  /** What was typed before the field was there. */
  typed: Typeahead;
}

const EACH = 5;
const MATCHED = SECTIONS.filter((section) => section !== 'number' && section !== 'search');

export function Palette(props: Props) {
  const { open, close } = props;
  const { t } = useTranslation('palette');
  const opened = useOpened(open);
  return (
    <Dialog
      open={open}
      onCancel={close}
      footer={null}
      closable={false}
      width={620}
      className="palette"
      title={<span className="visually-hidden">{t('title')}</span>}
      destroyOnHidden
    >
      <Content key={opened} {...props} />
    </Dialog>
  );
}

/** How often it was opened. Who opens it while it is still closing finds it empty. */
function useOpened(open: boolean): number {
  const [state, setState] = useState({ open, times: 0 });
  if (state.open !== open) setState({ open, times: state.times + (open ? 1 : 0) });
  return state.times;
}

/** First what is meant; then, for what changes a job, whether it really is. */
function Content(props: Props) {
  const [asked, setAsked] = useState<JobDeed | null>(null);
  if (asked) return <Confirming deed={asked} close={props.close} back={() => setAsked(null)} />;
  return <Finding {...props} ask={setAsked} />;
}

function Finding({ open, close, showKeys, typed, ask }: Props & { ask: (deed: JobDeed) => void }) {
  const { t } = useTranslation('palette');
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const found = useFound(query, open, showKeys);
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const current = found[Math.min(at, found.length - 1)];
  useLayoutEffect(() => {
    input.current?.focus();
    const text = typed.take();
    if (text) setQuery(text);
  }, [typed]);
  const chosenId = current && `${list} ${current.key}`;
  useEffect(() => {
    if (chosenId) document.getElementById(chosenId)?.scrollIntoView({ block: 'nearest' });
  }, [chosenId]);

  function choose({ deed }: Entry) {
    if ('job' in deed) return ask(deed);
    close();
    if ('to' in deed) void navigate(deed.to);
    else deed.act();
  }

  function onKeyDown(event: KeyboardEvent) {
    const last = found.length - 1;
    if (event.key === 'ArrowDown') setAt(at >= last ? 0 : at + 1);
    else if (event.key === 'ArrowUp') setAt(at <= 0 ? last : Math.min(at, last) - 1);
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing && current) choose(current);
    else return;
    event.preventDefault();
  }

  return (
    <>
      <input
        ref={input}
        className="palette-input"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={chosenId}
        aria-label={t('title')}
        placeholder={t('placeholder')}
        maxLength={200}
        value={query}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={list} role="listbox" aria-label={t('title')} className="palette-list">
        {[...new Set(found.map((entry) => entry.section))].map((section) => {
          const own = found.filter((entry) => entry.section === section);
          return (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be inside of a list to choose from
            <div key={section} role="group" aria-label={t(`sections.${section}`)}>
              <div className="palette-section muted" aria-hidden="true">
                {t(`sections.${section}`)}
              </div>
              {own.map((entry) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are heard by the field, which keeps the focus
                <div
                  key={entry.key}
                  id={`${list} ${entry.key}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={entry === current}
                  className="palette-entry"
                  onClick={() => choose(entry)}
                  onPointerMove={() => setAt(found.indexOf(entry))}
                >
                  <span className="palette-icon" aria-hidden="true">
                    {entry.icon}
                  </span>
                  <span className="palette-name">
                    <Said text={entry.name} query={query} />
                  </span>
                  {entry.hint && <span className="muted palette-hint">{entry.hint}</span>}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      <div className="palette-foot muted" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> {t('foot.move')} · <kbd>Enter</kbd> {t('foot.choose')} · <kbd>Esc</kbd>{' '}
        {t('foot.close')}
      </div>
    </>
  );
}

/** The best of each section, that with the best match first. With nothing typed: pages, views and choices. */
function useFound(query: string, open: boolean, showKeys: () => void): Entry[] {
  const entries = useEntries(query, open, showKeys);
  const textOf = (entry: Entry) => `${entry.name} ${entry.hint ?? ''}`;
  const of = (section: Section) => entries.filter((entry) => entry.section === section);
  if (!query.trim()) return [...of('pages'), ...of('views'), ...of('choices')];
  const scored = MATCHED.map((section) => best(query, of(section), textOf, EACH))
    .map((own) => ({ own, score: own[0] ? (match(query, textOf(own[0]))?.score ?? 0) : 0 }))
    .sort((one, other) => other.score - one.score);
  return [...of('number'), ...scored.flatMap(({ own }) => own), ...of('search')];
}
