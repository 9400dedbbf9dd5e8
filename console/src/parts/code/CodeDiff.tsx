// Two texts of code side by side. It is large: take it from LazyCode.

import { MergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { useEffect, useRef } from 'react';
import { type CodeKind, LANGUAGES_OF_CODE } from '@/parts/code/languages';
import { reading } from '@/parts/code/setup';
import './code.css';

interface Side {
  name: string;
  text: string;
}

export default function CodeDiff({ before, after, kind }: { before: Side; after: Side; kind: CodeKind }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let view: MergeView | undefined;
    let gone = false;
    void LANGUAGES_OF_CODE[kind]().then((language) => {
      if (gone || !place.current) return;
      const side = ({ name, text }: Side) => ({
        doc: text,
        extensions: [...reading(name), language, EditorState.readOnly.of(true)],
      });
      view = new MergeView({
        parent: place.current,
        a: side(before),
        b: side(after),
        collapseUnchanged: { margin: 3, minSize: 8 },
      });
    });
    return () => {
      gone = true;
      view?.destroy();
    };
  }, [before.name, before.text, after.name, after.text, kind]);
  return (
    <>
      <div className="code-diff-names" aria-hidden="true">
        <span>{before.name}</span>
        <span>{after.name}</span>
      </div>
      <div className="code-diff" ref={place} />
    </>
  );
}
