import { describe, expect, it } from 'vitest';
import { merged } from '@/pages/execution/merging';

const at = (second: number, text: string) => `2026-01-30T10:00:0${second}.000Z ${text}`;
const log = (shard: number, lines: string[], fromLine = 1) => ({ shard, executionId: 10 + shard, fromLine, lines });

describe('the logs of shards', () => {
  it('are one in the order of their times, and each line says whose it is', () => {
    const lines = merged([log(0, [at(1, 'a'), at(3, 'c')]), log(1, [at(2, 'b')], 7)]);
    expect(lines.map(({ text }) => text.slice(-1))).toEqual(['a', 'b', 'c']);
    expect(lines[1]).toEqual({ shard: 1, executionId: 11, line: 7, text: at(2, 'b') });
  });

  it('keep together what belongs together, and their own order', () => {
    const lines = merged([
      log(0, [at(1, 'Traceback'), '  File "jobs.py"', 'ValueError']),
      log(1, [at(1, 'x'), at(2, 'y')]),
      log(2, [at(4, 'late'), at(3, 'clock set back')]),
    ]);
    expect(lines.map(({ shard, line }) => `${shard}:${line}`)).toEqual([
      '0:1',
      '0:2',
      '0:3',
      '1:1',
      '1:2',
      '2:1',
      '2:2',
    ]);
  });

  it('are nothing where there is nothing', () => {
    expect(merged([])).toEqual([]);
    expect(merged([log(0, [])])).toEqual([]);
  });
});
