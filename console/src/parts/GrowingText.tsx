import { Input } from 'antd';
import type { ComponentProps } from 'react';
import { withLineEnds } from '@/parts/code/lineEnds';
import './parts.css';

type Props = Omit<ComponentProps<typeof Input.TextArea>, 'value' | 'onChange' | 'rows' | 'className'> & {
  value: string;
  onChange: (text: string) => void;
};

const MOST_ROWS = 12;

/** A text of any number of lines, as high as it needs: a field of one line deletes their ends, and says nothing. What Ant
 * Design measures to make a field grow needs a style that the page's policy forbids. */
export function GrowingText({ value, onChange, ...props }: Props) {
  return (
    <Input.TextArea
      {...props}
      className="growing-text"
      rows={Math.min(value.split(/\r\n|\r|\n/).length, MOST_ROWS)}
      value={value}
      onChange={({ target }) => onChange(withLineEnds(target.value, value))}
    />
  );
}
