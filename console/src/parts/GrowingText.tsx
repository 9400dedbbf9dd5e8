import { Input } from 'antd';
import type { ComponentProps } from 'react';
import { withLineEnds } from '@/parts/code/lineEnds';

type Props = Omit<ComponentProps<typeof Input.TextArea>, 'value' | 'onChange' | 'autoSize'> & {
  value: string;
  onChange: (text: string) => void;
};

const ROWS = { minRows: 1, maxRows: 12 };

/** A text of any number of lines, as high as it needs: a field of one line deletes their ends, and says nothing. */
export function GrowingText({ value, onChange, ...props }: Props) {
  return (
    <Input.TextArea
      {...props}
      autoSize={ROWS}
      value={value}
      onChange={({ target }) => onChange(withLineEnds(target.value, value))}
    />
  );
}
