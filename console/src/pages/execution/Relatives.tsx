import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { components } from '@/api/schema';
import { useShownNow } from '@/live/LiveProvider';
import { placed } from '@/pages/execution/phases';
import { endedAt } from '@/parts/job/runs';
import { Panel } from '@/parts/Page';
import { RanFor } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { RunStatusTag } from '@/status/StatusTag';
import { LOOKS, listedAs, TERMINAL } from '@/status/statuses';

type Relative = components['schemas']['RelativeShown'];

interface Props {
  title: string;
  items: Relative[];
  current: number;
  nameOf: (one: Relative, index: number) => string;
}

/** Attempts or shards, each with a bar under it on one scale of time: beside it there would be no room. */
export function Relatives({ title, items, current, nameOf }: Props) {
  const { t } = useTranslation('execution');
  const now = useShownNow();
  const endOf = (one: Relative) => endedAt(one) ?? (TERMINAL[one.status] ? beginOf(one) : now);
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
            </tr>
          </thead>
          <tbody>
            {items.map((one, index) => (
              <Fragment key={one.id}>
                <tr aria-current={one.id === current ? 'true' : undefined}>
                  <th scope="row">
                    <Link to={`/executions/${one.id}`}>{nameOf(one, index)}</Link>
                    <span className="cell-sub">#{one.id}</span>
                  </th>
                  <td>
                    <RunStatusTag run={one} />
                  </td>
                  <td className="nowrap">
                    <RanFor run={one} />
                  </td>
                </tr>
                {one.hands.length > 0 && <Hands one={one} current={one.id === current} />}
                {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus */}
                <tr className={one.id === current ? 'relative-span current' : 'relative-span'} aria-hidden="true">
                  <td colSpan={3}>
                    <Bar one={one} begin={begin} end={end} upTo={endOf(one)} />
                  </td>
                </tr>
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

/** Which coordinators took it over; on the bar below each is a mark. */
function Hands({ one, current }: { one: Relative; current: boolean }) {
  const { t } = useTranslation(['execution', 'cluster']);
  return (
    <tr className={current ? 'current' : undefined}>
      <td colSpan={3}>
        <ul className="relative-hands">
          {one.hands.map(({ at, from_node: from, to_node: to, reason }) => (
            <li key={at}>
              <Instant at={at} /> {t('execution:facts.owner')} {from ?? t('cluster:waiting.nobody')} → {to}{' '}
              <span className="muted">({t(`cluster:reason.${reason}`)})</span>
            </li>
          ))}
        </ul>
      </td>
    </tr>
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
    <span className={`span-track status-${LOOKS[listedAs(one)].colour}`}>
      <span className="span-waiting" style={{ left: `${waiting.left}%`, width: `${waiting.width}%` }} />
      {one.start_time !== null && (
        <span className="span-running" style={{ left: `${running.left}%`, width: `${running.width}%` }} />
      )}
      {one.hands.map(({ at }) => (
        <span key={at} className="span-hand" style={{ left: `${placed(Date.parse(at), upTo, begin, end).left}%` }} />
      ))}
    </span>
  );
}
