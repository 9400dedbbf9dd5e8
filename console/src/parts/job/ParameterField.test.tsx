import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { Form } from 'antd';
import { useState } from 'react';
import { afterEach, expect, it } from 'vitest';
import { ParameterField } from '@/parts/job/ParameterField';
import type { Schema } from '@/parts/job/schema';

const TEXT = { type: 'string', title: 'text' };
const OBJECT = {
  type: 'object',
  additionalProperties: false,
  properties: { name: { type: 'string' }, pages: { type: 'integer', maximum: 10 } },
};

let said = '';

function Field({ schema, begun, reading = false }: { schema: Schema | null; begun: string; reading?: boolean }) {
  const [value, setValue] = useState(begun);
  said = value;
  return <ParameterField schema={schema} reading={reading} value={value} onChange={setValue} />;
}

const entry = (name: RegExp | string) => screen.getByLabelText<HTMLTextAreaElement>(name);

afterEach(cleanup);

it.each([
  ['a handler of one text', TEXT, 'SELECT a\nFROM b', 'param.text'],
  ['an argument', OBJECT, JSON.stringify({ name: 'SELECT a\nFROM b' }), /name/],
])('keeps the lines of the text of %s', (_, schema, begun, label) => {
  render(<Field schema={schema} begun={begun} />);
  expect(entry(label).value).toBe('SELECT a\nFROM b');
  fireEvent.change(entry(label), { target: { value: 'SELECT a\nFROM b\nLIMIT 1' } });
  expect(said).toBe(begun.replace('FROM b', schema === TEXT ? 'FROM b\nLIMIT 1' : 'FROM b\\nLIMIT 1'));
});

it('cannot be typed into before it is known what it is', () => {
  const { rerender } = render(<Field schema={null} begun="FROM b" reading />);
  expect(screen.queryByRole('textbox')).toBeNull();
  rerender(<Field schema={TEXT} begun="FROM b" />);
  expect(entry('param.text').value).toBe('FROM b');
});

it.each([TEXT, null])('keeps the line ends of what was there', (schema) => {
  render(<Field schema={schema} begun={'a\r\nb'} />);
  fireEvent.change(entry('param.text'), { target: { value: 'a\nc' } });
  expect(said).toBe('a\r\nc');
});

it('shows what the handler has no name for, says so, and lets go of it', () => {
  render(<Field schema={OBJECT} begun={'{"name":"a","zzz":1}'} />);
  expect(entry(/zzz/).getAttribute('aria-invalid')).toBe('true');
  expect(screen.getByText('param.notTaken')).toBeDefined();
  fireEvent.change(entry(/zzz/), { target: { value: '' } });
  expect(said).toBe('{"name":"a"}');
  expect(screen.queryByText('param.notTaken')).toBeNull();
});

it('marks the wrong one only, also where the whole is refused', () => {
  render(
    <Form.Item validateStatus="error">
      <ParameterField schema={OBJECT} value={'{"name":"a","pages":99}'} />
    </Form.Item>,
  );
  const red = [...document.querySelectorAll('.param-field [class*="status-error"]')];
  expect(red.map((one) => one.closest('.param-field')?.textContent)).toEqual([expect.stringContaining('pages')]);
});
