import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { components } from '@/api/schema';
import { useShownNow } from '@/live/LiveProvider';
import { placed } from '@/pages/execution/phases';
import { Panel } from '@/parts/Page';
import { Duration } from '@/parts/time/Duration';
import { RunStatusTag } from '@/status/StatusTag';
import { LOOKS, TERMINAL } from '@/status/statuses';

type Relative = components['schemas']['RelativeShown'];

interface Props {
  title: string;
  items: Relative[];
  current: number;
  nameOf: (one: Relative, index: number) => string;
}

/** Attempts or shards, each as a bar on one scale of time. */
export function Relatives({ title, items, current, nameOf }: Props) {
  const { t } = useTranslation('execution');
  const now = useShownNow();
  const endOf = (one: Relative) =>
    one.handle_time !== null ? Date.parse(one.handle_time) : TERMINAL[one.status] ? beginOf(one) : now;
  const begin = Math.min(...items.map(beginOf));
  const end = Math.max(...items.map(endOf));
  return (
    <Panel title={title} flush>
      <div className="relatives-place">
        <table className="relatives">
          <thead className="visually-hidden">
            <tr>
              <th scope="col">{title}</th>
              <th scope="col">{t('facts.status')}</th>
              <th scope="col">{t('facts.duration')}</th>
              <th scope="col">{t('relatives.span')}</th>
            </tr>
          </thead>
          <tbody>
            {items.map((one, index) => (
              <tr key={one.id} aria-current={one.id === current ? 'true' : undefined}>
                <th scope="row">
                  <Link to={`/executions/${one.id}`}>{nameOf(one, index)}</Link>
                  <span className="cell-sub">#{one.id}</span>
                </th>
                <td>
                  <RunStatusTag run={one} />
                </td>
                <td className="nowrap">
                  <Duration from={one.start_time} to={one.handle_time} />
                </td>
                <td className="relative-span">
                  <Bar one={one} begin={begin} end={end} upTo={endOf(one)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function beginOf(one: Relative): number {
  return one.trigger_time === null ? 0 : Date.parse(one.trigger_time);
}

/** The lighter part is waiting, the other one running. */
function Bar({ one, begin, end, upTo }: { one: Relative; begin: number; end: number; upTo: number }) {
  const start = one.start_time === null ? upTo : Date.parse(one.start_time);
  const waiting = placed(beginOf(one), start, begin, end);
  const running = placed(start, upTo, begin, end);
  return (
    <span className={`span-track status-${LOOKS[one.status].colour}`} aria-hidden="true">
      <span className="span-waiting" style={{ left: `${waiting.left}%`, width: `${waiting.width}%` }} />
      {one.start_time !== null && (
        <span className="span-running" style={{ left: `${running.left}%`, width: `${running.width}%` }} />
      )}
    </span>
  );
}
