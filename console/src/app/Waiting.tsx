import { Spin } from 'antd';
import { useSyncExternalStore } from 'react';
import { LostFiles } from '@/app/LostFiles';
import { textsAreLost, whenTextsChange } from '@/i18n/i18n';
import './shell.css';

/** Until there is something to show; who waits for texts that cannot be fetched is told so. */
export function Waiting() {
  const lost = useSyncExternalStore(whenTextsChange, textsAreLost);
  if (lost) return <LostFiles />;
  return (
    <div className="waiting" aria-busy="true">
      <Spin size="large" />
    </div>
  );
}
