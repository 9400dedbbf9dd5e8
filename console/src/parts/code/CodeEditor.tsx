// An editor for code. It is large: take it from LazyCode.

import { Annotation, Compartment, EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { useEffect, useMemo, useRef } from 'react';
import { type CodeKind, LANGUAGES_OF_CODE } from '@/parts/code/languages';
import { edited } from '@/parts/code/lineEnds';
import { reading, wording, writing } from '@/parts/code/setup';
import { usePhrases } from '@/parts/code/usePhrases';
import './code.css';

interface Props {
  value: string;
  kind: CodeKind;
  label: string;
  /** Without it the code can only be read. */
  onChange?: ((value: string) => void) | undefined;
}

/** Marks what the page put in, which is no edit. */
const given = Annotation.define<true>();

export default function CodeEditor({ value, kind, label, onChange }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const writable = onChange !== undefined;
  const first = useRef(value);
  const phrases = usePhrases();
  const words = useMemo(() => wording(label, phrases), [label, phrases]);
  const said = useRef({ place: new Compartment(), words });

  useEffect(() => {
    if (!place.current) return;
    const language = new Compartment();
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          ...reading(),
          said.current.place.of(said.current.words),
          ...(writable ? writing() : [EditorState.readOnly.of(true)]),
          language.of([]),
          EditorView.updateListener.of((update) => {
            const typed = update.transactions.some((one) => one.docChanged && !one.annotation(given));
            if (typed) changed.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    void LANGUAGES_OF_CODE[kind]().then((found) => {
      if (view.current === made) made.dispatch({ effects: language.reconfigure(found) });
    });
    return () => {
      first.current = made.state.doc.toString();
      view.current = null;
      made.destroy();
    };
  }, [kind, writable]);

  // What is open, such as the panel to find, takes its words when it is made: it is made anew from the same state.
  useEffect(() => {
    const [made, { place: where, words: before }] = [view.current, said.current];
    said.current.words = words;
    if (!made || words === before) return;
    made.setState(made.state.update({ effects: where.reconfigure(words) }).state);
  }, [words]);

  useEffect(() => {
    const made = view.current;
    const doc = made?.state.doc;
    if (!made || !doc || doc.toString() === edited(value)) return;
    made.dispatch({ changes: { from: 0, to: doc.length, insert: value }, annotations: given.of(true) });
  }, [value]);

  return <div className="code-editor" ref={place} />;
}
