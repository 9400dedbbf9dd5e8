// The last lines of several logs as one: in the order of their times, each with whose it is.

import { told } from '@/parts/log/lines';

export interface ShardText {
  shard: number;
  executionId: number;
  fromLine: number;
  lines: readonly string[];
}

export interface MergedLine {
  shard: number;
  executionId: number;
  line: number;
  text: string;
}

interface Timed extends MergedLine {
  at: number;
}

/** Every line of every log. One that says no time stays behind the line it follows: it belongs to it. */
export function merged(logs: readonly ShardText[]): MergedLine[] {
  const lines = logs.flatMap(timed);
  lines.sort((a, b) => a.at - b.at || a.shard - b.shard || a.line - b.line);
  return lines.map(({ at: _at, ...line }) => line);
}

/** A clock may be set back: within one log the order of the lines holds. */
function timed({ shard, executionId, fromLine, lines }: ShardText): Timed[] {
  let latest = 0;
  return lines.map((text, index) => {
    latest = Math.max(latest, told(text).at ?? latest);
    return { shard, executionId, line: fromLine + index, text, at: latest };
  });
}
