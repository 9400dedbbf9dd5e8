import { LeftOutlined, RightOutlined, ZoomInOutlined, ZoomOutOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Button, Segmented, Select, Space, Tooltip } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { groupsQuery } from '@/api/groups';
import { HOURS, type Hours, type Move, moved, ROWS_BY, type RowsBy, type Span } from '@/pages/timeline/model';
import { ClearableSelect } from '@/parts/clearable';

interface Props {
  hours: Hours;
  by: RowsBy;
  view: 'chart' | 'table';
  group: string | undefined;
  zoom: Span | null;
  span: Span;
  onHours: (hours: Hours) => void;
  onBy: (by: RowsBy) => void;
  onView: (view: 'chart' | 'table') => void;
  onGroup: (group: string | undefined) => void;
  onZoom: (span: Span | null) => void;
}

interface MoveProps {
  how: Move;
  icon: ReactNode;
  /** Null: nowhere. */
  to: Span | null;
  onMove: (span: Span | null) => void;
}

function MoveButton({ how, icon, to, onMove }: MoveProps) {
  const { t } = useTranslation('timeline');
  const name = to ? t(`zoom.${how}`) : t(`zoom.end.${how}`);
  return (
    <Tooltip title={name}>
      <Button aria-label={name} icon={icon} disabled={!to} onClick={() => onMove(to)} />
    </Tooltip>
  );
}

const MOVES = [
  ['earlier', <LeftOutlined key="earlier" />],
  ['out', <ZoomOutOutlined key="out" />],
  ['in', <ZoomInOutlined key="in" />],
  ['later', <RightOutlined key="later" />],
] as const;

/** Which hours, in which rows, as a picture or a table; zooming as well, for those who do not drag. */
export function Toolbar({ hours, by, view, group, zoom, span, ...on }: Props) {
  const { t } = useTranslation('timeline');
  const groups = useQuery(groupsQuery).data?.items ?? [];
  return (
    <div className="timeline-tools" role="toolbar" aria-label={t('tools')}>
      <Segmented
        aria-label={t('hours.label')}
        value={zoom ? '' : hours}
        onChange={(chosen) => on.onHours(chosen as Hours)}
        options={HOURS.map((one) => ({ value: one as string, label: t('hours.last', { count: Number(one) }) }))}
      />
      <Select
        aria-label={t('rows.label')}
        className="timeline-rows"
        value={by}
        onChange={on.onBy}
        options={ROWS_BY.map((one) => ({ value: one, label: t(`rows.${one}`) }))}
      />
      <ClearableSelect
        aria-label={t('anyGroup')}
        className="timeline-rows"
        placeholder={t('anyGroup')}
        value={group ?? null}
        onChange={(chosen) => on.onGroup(chosen ?? undefined)}
        options={groups.map((one) => ({ value: String(one.id), label: one.title || one.app_name }))}
      />
      <Space.Compact>
        {MOVES.map(([how, icon]) => (
          <MoveButton key={how} how={how} icon={icon} to={moved(span, how)} onMove={on.onZoom} />
        ))}
      </Space.Compact>
      {zoom && <Button onClick={() => on.onZoom(null)}>{t('zoom.reset')}</Button>}
      <Segmented
        aria-label={t('view.label')}
        className="timeline-view"
        value={view}
        onChange={(chosen) => on.onView(chosen as typeof view)}
        options={(['chart', 'table'] as const).map((one) => ({ value: one, label: t(`view.${one}`) }))}
      />
    </div>
  );
}
