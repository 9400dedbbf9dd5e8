import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { MemoryRouter, useNavigate } from 'react-router';
import { afterEach, describe, expect, it } from 'vitest';
import { steady, useHeldRows } from '@/parts/table/heldRows';

interface Row {
  id: number;
  says?: string;
}

const rows = (...ids: number[]): Row[] => ids.map((id) => ({ id }));
const ids = (those: readonly Row[]) => those.map(({ id }) => id);
const keyOf = ({ id }: Row) => id;

describe('rows that are held', () => {
  it('stay in their places, and say what is new of them', () => {
    const held = rows(3, 2, 1);
    const now: Row[] = [{ id: 5 }, { id: 4 }, { id: 3, says: 'ended' }, { id: 1 }, { id: 2 }];
    const shown = steady(held, now, keyOf);
    expect(ids(shown.rows)).toEqual([3, 2, 1]);
    expect(shown.rows[0]?.says).toBe('ended');
    expect([shown.fresh, shown.changed]).toEqual([2, true]);
  });

  it('are followed by those that are loaded after them', () => {
    const shown = steady(rows(3, 2), rows(4, 3, 2, 1), keyOf);
    expect([ids(shown.rows), shown.fresh]).toEqual([[3, 2, 1], 1]);
  });

  it('stay when they have left the list, and where none is left nothing is counted', () => {
    expect(steady(rows(3, 2), rows(3), keyOf)).toMatchObject({ rows: rows(3, 2), fresh: 0, changed: true });
    expect(steady(rows(3, 2), rows(9, 8), keyOf)).toMatchObject({ rows: rows(3, 2), fresh: 0, changed: true });
  });

  it('are not changed where nothing is', () => {
    const same = rows(2, 1);
    expect(steady(same, same, keyOf)).toEqual({ rows: same, fresh: 0, changed: false });
    expect(steady([], same, keyOf)).toEqual({ rows: same, fresh: 0, changed: false });
  });
});

function List({ now }: { now: Row[] }) {
  const [selected, setSelected] = useState(false);
  const held = useHeldRows(now, keyOf, selected);
  const navigate = useNavigate();
  return (
    <div ref={held.place} data-testid="place">
      <p data-testid="order">{ids(held.rows).join(' ')}</p>
      <button type="button" onClick={held.release}>
        {held.fresh} wait
      </button>
      <button type="button" onClick={() => navigate('?status=failed')}>
        filter
      </button>
      <button type="button" onClick={() => setSelected(!selected)}>
        select
      </button>
      <table>
        <tbody>
          {held.rows.map((row) => (
            <tr key={row.id} data-row-key={row.id}>
              <td>
                <button type="button">row {row.id}</button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const useEnded = (left: Row[]) => left.map((row) => ({ ...row, says: 'ended' }));

function Latest({ now }: { now: Row[] }) {
  const held = useHeldRows(now, keyOf, true, useEnded);
  return (
    <p ref={held.place} data-testid="place">
      {held.rows.map(({ id, says = '' }) => `${id}${says}`).join(' ')}
    </p>
  );
}

it('shows what has left the list as it is by now', () => {
  const shown = render(<Latest now={rows(3, 2, 1)} />, { wrapper: MemoryRouter });
  shown.rerender(<Latest now={rows(4, 3, 1)} />);
  expect(shown.getByTestId('place').textContent).toBe('3 2ended 1');
});

function site(first: Row[]) {
  const tree = (now: Row[]) => (
    <MemoryRouter>
      <List now={now} />
    </MemoryRouter>
  );
  const { rerender } = render(tree(first));
  return { become: (now: Row[]) => act(async () => rerender(tree(now))) };
}

const order = () => screen.getByTestId('order').textContent;

afterEach(cleanup);

describe('a list that changes under the pointer', () => {
  it('waits until the pointer has left its rows', async () => {
    const { become } = site(rows(2, 1));
    fireEvent.pointerOver(screen.getByText('row 2'));
    await become(rows(3, 2, 1));
    expect(order()).toBe('2 1');
    expect(screen.getByText('1 wait')).toBeTruthy();
    fireEvent.pointerLeave(screen.getByTestId('place'));
    expect(order()).toBe('3 2 1');
    await become(rows(4, 3, 2, 1));
    expect(order()).toBe('4 3 2 1');
  });

  it('waits for the keyboard too, until it is asked to go on', async () => {
    const { become } = site(rows(2, 1));
    for (let press = 0; press < 4; press++) await userEvent.tab();
    expect(document.activeElement?.textContent).toBe('row 2');
    await become(rows(3, 2, 1));
    expect(order()).toBe('2 1');
    fireEvent.click(screen.getByText('1 wait'));
    expect(order()).toBe('3 2 1');
  });

  it('waits while some are selected, wherever the pointer is', async () => {
    const { become } = site(rows(2, 1));
    fireEvent.click(screen.getByText('select'));
    fireEvent.pointerOver(screen.getByText('row 2'));
    fireEvent.pointerLeave(screen.getByTestId('place'));
    await become(rows(3, 2));
    expect(order()).toBe('2 1');
    fireEvent.click(screen.getByText('1 wait'));
    await become(rows(4, 3));
    expect(order()).toBe('3 2');
    fireEvent.click(screen.getByText('select'));
    expect(order()).toBe('4 3');
  });

  it('waits while something of a row is open, wherever the pointer is', async () => {
    const { become } = site(rows(2, 1));
    const button = screen.getByText('row 2');
    button.setAttribute('aria-haspopup', 'dialog');
    await act(async () => button.setAttribute('aria-expanded', 'true'));
    fireEvent.pointerLeave(screen.getByTestId('place'));
    await become(rows(3, 2, 1));
    expect(order()).toBe('2 1');
    await act(async () => button.setAttribute('aria-expanded', 'false'));
    expect(order()).toBe('3 2 1');
  });

  it('is another list when the address asks for something else', async () => {
    const { become } = site(rows(2, 1));
    fireEvent.pointerOver(screen.getByText('row 2'));
    fireEvent.click(screen.getByText('filter'));
    await become(rows(9));
    expect(order()).toBe('9');
    fireEvent.pointerOver(screen.getByText('row 9'));
    await become(rows(10, 9));
    expect(order()).toBe('9');
  });
});
