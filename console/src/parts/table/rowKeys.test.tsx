import { cleanup, render } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useRef } from 'react';
import { afterEach, describe, expect, it } from 'vitest';
import { stepped, useRowKeys } from '@/parts/table/rowKeys';

function List({ did }: { did: (what: string) => void }) {
  const place = useRef<HTMLDivElement>(null);
  useRowKeys(place);
  return (
    <div ref={place}>
      <input aria-label="field" />
      <table>
        <tbody>
          {['a', 'b'].map((key) => (
            <tr key={key} data-row-key={key}>
              <td className="ant-table-selection-column">
                <input type="checkbox" onChange={() => did(`select ${key}`)} />
              </td>
              <td>
                <a href={`#filter-${key}`}>{key}</a>
                <a href={`#open-${key}`} data-open>
                  {key}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <table>
        <tbody>
          <tr data-row-key="c">
            <td>
              <button type="button" className="ant-table-row-expand-icon" onClick={() => did('unfold c')} />
              <button type="button" onClick={() => did('remove c')} />
            </td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}

afterEach(cleanup);

describe('the keys of a list', () => {
  it('walk through the rows and stop at both ends', () => {
    expect([stepped(-1, 3, 1), stepped(-1, 3, -1), stepped(2, 3, 1), stepped(0, 3, -1), stepped(0, 3, 1)]).toEqual([
      0, 2, 2, 0, 1,
    ]);
  });

  it('select and open the row that has the focus', async () => {
    const done: string[] = [];
    const { container } = render(<List did={(what) => done.push(what)} />);
    container.addEventListener('click', ({ target }) => {
      if (target instanceof HTMLAnchorElement) done.push(target.hash);
    });
    await userEvent.keyboard('xo');
    expect(done).toEqual([]);
    await userEvent.keyboard('jjkjx');
    expect((document.activeElement as HTMLElement).dataset.rowKey).toBe('b');
    await userEvent.keyboard('o{Enter}');
    expect(done).toEqual(['select b', '#open-b', '#open-b']);
  });

  it('go on in the next table, and unfold what has no page of its own', async () => {
    const done: string[] = [];
    render(<List did={(what) => done.push(what)} />);
    await userEvent.keyboard('jjjo');
    expect((document.activeElement as HTMLElement).dataset.rowKey).toBe('c');
    expect(done).toEqual(['unfold c']);
  });

  it('are letters in a field', async () => {
    const done: string[] = [];
    const { getByLabelText } = render(<List did={(what) => done.push(what)} />);
    await userEvent.type(getByLabelText('field'), 'jxo');
    expect(done).toEqual([]);
    expect((getByLabelText('field') as HTMLInputElement).value).toBe('jxo');
  });
});
