// Views of code, loaded when one is shown: they are most of what a page with code weighs.

import { Skeleton } from 'antd';
import { type ComponentProps, lazy, Suspense } from 'react';

const Editor = lazy(() => import('@/parts/code/CodeEditor'));
const Diff = lazy(() => import('@/parts/code/CodeDiff'));

export function CodeEditor(props: ComponentProps<typeof Editor>) {
  return (
    <Suspense fallback={<Skeleton active className="panel-body" />}>
      <Editor {...props} />
    </Suspense>
  );
}

export function CodeDiff(props: ComponentProps<typeof Diff>) {
  return (
    <Suspense fallback={<Skeleton active />}>
      <Diff {...props} />
    </Suspense>
  );
}
