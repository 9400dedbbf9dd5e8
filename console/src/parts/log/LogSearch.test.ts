import { describe, expect, it } from 'vitest';
import { LogSearch, matchFrom, type SearchPart } from '@/parts/log/LogSearch';

const QUERY = { text: 'x', regex: false, ignoreCase: false };

function parts(...answers: (SearchPart | Error)[]) {
  const asked: number[] = [];
  const patience: (number | undefined)[] = [];
  const ask = async (_query: unknown, from: number, _limit: number, _signal: AbortSignal, seconds?: number) => {
    asked.push(from);
    patience.push(seconds);
    const answer = answers.shift();
    if (!answer || answer instanceof Error) throw answer ?? new Error('asked too often');
    return answer;
  };
  return { asked, patience, ask };
}

const found = (...lines: number[]) => lines.map((line) => ({ line, text: `x ${line}`, offset: 0, start: 0, end: 1 }));

async function settled(search: LogSearch) {
  for (let turn = 0; turn < 50 && search.state.busy; turn++) await Promise.resolve();
}

describe('a search', () => {
  it('goes on until the end', async () => {
    const { asked, ask } = parts(
      { to_line: 100, matches: found(3), end: false, lacking: false },
      { to_line: 200, matches: [], end: false, lacking: true },
      { to_line: 250, matches: found(201, 203), end: true, lacking: false },
    );
    const search = new LogSearch(ask, 1_000);
    search.start(QUERY);
    await settled(search);
    expect(asked).toEqual([1, 101, 201]);
    expect(search.state.matches.map((one) => one.line)).toEqual([3, 201, 203]);
    expect(search.state).toMatchObject({ end: true, busy: false, toLine: 250, lacking: true });
  });

  it('asks for a first answer soon, and for longer parts after it', async () => {
    const more = { matches: [], end: false, lacking: false };
    const { patience, ask } = parts(...[1, 2, 3, 4, 5, 6].map((to_line) => ({ ...more, to_line })), {
      ...more,
      to_line: 7,
      end: true,
    });
    const search = new LogSearch(ask, 10);
    search.start(QUERY);
    await settled(search);
    expect(patience).toEqual([0.5, 1, 2, 4, 8, 10, 10]);
  });

  it('rests at enough, and goes on when it is asked to', async () => {
    const { asked, ask } = parts(
      { to_line: 2, matches: found(1, 2), end: false, lacking: false },
      { to_line: 4, matches: found(3, 4), end: false, lacking: false },
    );
    const search = new LogSearch(ask, 2);
    search.start(QUERY);
    await settled(search);
    expect([asked, search.state.end, search.state.caughtUp]).toEqual([[1], false, false]);
    search.more();
    await settled(search);
    expect(asked).toEqual([1, 3]);
  });

  it('does not run in circles where a log is still written', async () => {
    const { asked, ask } = parts(
      { to_line: 5, matches: [], end: false, lacking: false },
      { to_line: 5, matches: [], end: false, lacking: false },
    );
    const search = new LogSearch(ask, 10);
    search.start(QUERY);
    await settled(search);
    expect([asked, search.state.busy, search.state.caughtUp]).toEqual([[1, 6], false, true]);
  });

  it('tells what went wrong', async () => {
    const failing = new LogSearch(parts(new Error('no')).ask, 10);
    failing.start(QUERY);
    await settled(failing);
    expect(failing.state.error).toEqual(new Error('no'));
  });
});

describe('going through matches', () => {
  it('leads to the next from where one is, and around', () => {
    const matches = found(10, 20, 30);
    expect([matchFrom(matches, 10, 1), matchFrom(matches, 15, 1), matchFrom(matches, 30, 1)]).toEqual([1, 1, 0]);
    expect([matchFrom(matches, 20, -1), matchFrom(matches, 5, -1)]).toEqual([0, 2]);
    expect(matchFrom([], 5, 1)).toBe(-1);
  });
});
