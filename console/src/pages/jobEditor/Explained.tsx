import { Form, Select } from 'antd';
import type { DraftField } from '@/parts/job/draft';

interface Props<Choice extends string | number> {
  name: DraftField;
  label: string;
  choices: readonly Choice[];
  nameOf: (choice: Choice) => string;
  helpOf: (choice: Choice) => string;
}

/** A choice of which every possibility is explained in one line, and the chosen one below the field. */
export function Explained<Choice extends string | number>({ name, label, choices, nameOf, helpOf }: Props<Choice>) {
  const chosen = Form.useWatch(name) as Choice | undefined;
  return (
    <Form.Item name={name} label={label} extra={chosen !== undefined && choices.includes(chosen) && helpOf(chosen)}>
      <Select
        popupMatchSelectWidth={420}
        options={choices.map((one) => ({ value: one, label: nameOf(one) }))}
        optionRender={({ value }) => (
          <>
            <div>{nameOf(value as Choice)}</div>
            <div className="option-help">{helpOf(value as Choice)}</div>
          </>
        )}
      />
    </Form.Item>
  );
}
