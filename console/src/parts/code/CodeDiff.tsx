// Two texts of code side by side. It is large: take it from LazyCode.

import { MergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { useEffect, useRef } from 'react';
import { type CodeKind, LANGUAGES_OF_CODE } from '@/parts/code/languages';
import { reading, wording } from '@/parts/code/setup';
import { usePhrases } from '@/parts/code/usePhrases';
import './code.css';

interface Side {
  name: string;
  text: string;
}

export default function CodeDiff({ before, after, kind }: { before: Side; after: Side; kind: CodeKind }) {
  const place = useRef<HTMLDivElement>(null);
  const phrases = usePhrases();
  const [leftName, left, rightName, right] = [before.name, before.text, after.name, after.text];
  useEffect(() => {
    let view: MergeView | undefined;
    let gone = false;
    void LANGUAGES_OF_CODE[kind]().then((language) => {
      if (gone || !place.current) return;
      const side = (name: string, text: string) => ({
        doc: text,
        extensions: [...reading(), wording(name, phrases), language, EditorState.readOnly.of(true)],
      });
      view = new MergeView({
        parent: place.current,
        a: side(leftName, left),
        b: side(rightName, right),
        collapseUnchanged: { margin: 3, minSize: 8 },
      });
    });
    return () => {
      gone = true;
      view?.destroy();
    };
  }, [leftName, left, rightName, right, kind, phrases]);
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
