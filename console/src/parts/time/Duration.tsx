import { useShownNow } from '@/live/LiveProvider';
import { type Ran, took } from '@/parts/job/runs';
import { duration } from '@/parts/time/format';

/** How long something took; without an end it is still going on, and counts. */
export function Duration({ from, to }: { from: string | null; to: string | null }) {
  if (from === null) return <span className="muted">–</span>;
  if (to === null) return <Counting from={from} />;
  return <span>{duration(Math.max(0, Date.parse(to) - Date.parse(from)))}</span>;
}

/** How long an execution ran; one that is open counts. */
export function RanFor({ run }: { run: Ran }) {
  if (run.handle_time === null) return <Duration from={run.start_time} to={null} />;
  const ms = took(run);
  return ms === null ? <span className="muted">–</span> : <span>{duration(ms)}</span>;
}

function Counting({ from }: { from: string }) {
  const now = useShownNow();
  return <span className="muted">{duration(Math.max(0, now - Date.parse(from)))}</span>;
}
