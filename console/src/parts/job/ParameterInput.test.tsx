import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { ParameterInput } from '@/parts/job/ParameterInput';
import type { FieldKind, ParamField, Trouble } from '@/parts/job/schema';

const FIELD: ParamField = {
  name: 'pages',
  kind: 'integer',
  description: 'How many.',
  required: true,
  fallback: undefined,
  options: ['"a"'],
  min: undefined,
  max: '100',
  pattern: undefined,
  least: undefined,
  most: undefined,
  nullable: false,
  taken: true,
};

function shown(kind: FieldKind, trouble: Trouble | null): HTMLElement {
  const value = { field: { ...FIELD, kind }, value: undefined, typed: undefined };
  render(<ParameterInput {...value} trouble={trouble && { trouble }} onChange={() => {}} onTyped={() => {}} />);
  return screen.getByLabelText(/pages/);
}

afterEach(cleanup);

it.each<FieldKind>(['integer', 'number', 'text', 'date', 'choice', 'list', 'json', 'switch'])(
  'ties what is said of a field of the kind %s to its entry',
  (kind) => {
    const entry = shown(kind, 'max');
    expect(entry.getAttribute('aria-invalid')).toBe('true');
    expect(entry.getAttribute('aria-required')).toBe('true');
    const said = (entry.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id));
    expect(said.map((one) => one?.textContent?.trim())).toEqual(['param.max', 'How many.']);
  },
);

it('calls nothing missing before somebody was there', () => {
  const entry = shown('text', 'missing');
  expect(entry.getAttribute('aria-invalid')).toBe('false');
  expect(screen.queryByText('param.missing')).toBeNull();
  fireEvent.focus(entry);
  fireEvent.blur(entry);
  expect(entry.getAttribute('aria-invalid')).toBe('true');
  expect(screen.getByText('param.missing')).toBeDefined();
});
