import { Input, Select, Switch } from 'antd';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { exactText } from '@/api/exactJson';
import { ClearableSelect } from '@/parts/clearable';
import { GrowingText } from '@/parts/GrowingText';
import { asOption, type ParamField, readTyped, textIn, textsIn, type Wrong } from '@/parts/job/schema';
import { useWrongText } from '@/parts/job/useWrongText';

interface EntryProps {
  field: ParamField;
  /** The JSON text of the argument; undefined where it is not given. */
  value: string | undefined;
  /** What stands in the field and is no value yet. */
  typed: string | undefined;
  onChange: (value: string | undefined) => void;
  onTyped: (text: string) => void;
}

/** How an entry is tied to what is said of it. */
interface Tied {
  id: string;
  'aria-required': boolean;
  'aria-invalid': boolean;
  'aria-describedby': string;
}

/** One argument of a handler, by its kind. That one is missing is no fault before somebody was there. */
export function ParameterInput({ trouble, ...entry }: EntryProps & { trouble: Omit<Wrong, 'name'> | null }) {
  const { t } = useTranslation('jobs');
  const say = useWrongText();
  const id = useId();
  const [visited, setVisited] = useState(false);
  const { field } = entry;
  const wrong = trouble !== null && (trouble.trouble !== 'missing' || visited);
  const tied: Tied = {
    id,
    'aria-required': field.required,
    'aria-invalid': wrong,
    'aria-describedby': `${id}-trouble ${id}-help`,
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears that the focus left what is inside
    <div className="param-field" onBlur={() => setVisited(true)}>
      <label htmlFor={id}>
        <span className="mono">{field.name}</span>
        {field.required && (
          <span className="required-mark" title={t('param.missing')}>
            {' '}
            *
          </span>
        )}
      </label>
      <Entry tied={tied} {...entry} />
      {wrong && (
        <p id={`${id}-trouble`} className="param-trouble">
          {say({ field, ...trouble })}
        </p>
      )}
      {(field.description || field.fallback !== undefined) && (
        <p id={`${id}-help`} className="muted param-help">
          {[
            field.description,
            field.fallback !== undefined && t('param.fallback', { value: exactText(field.fallback) }),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      )}
    </div>
  );
}

function Entry(props: EntryProps & { tied: Tied }) {
  const { tied, field, value, onChange } = props;
  const marked = { ...tied, ...(tied['aria-invalid'] && { status: 'error' as const }) };
  const { t } = useTranslation('jobs');
  const shown = fallbackText(field.fallback);
  const said = value === 'null' ? '' : (textIn(value) ?? value ?? '');
  const say = (text: string) => onChange(text === '' ? undefined : JSON.stringify(text));
  const texts = field.kind === 'list' && value !== 'null' ? textsIn(value) : [];
  switch (field.kind) {
    case 'integer':
    case 'number':
      return <Typed {...props} marked={marked} placeholder={shown} />;
    case 'switch':
      // A switch that nobody touched would look like a no.
      if (typeof field.fallback !== 'boolean')
        return (
          <ClearableSelect
            {...marked}
            className="param-choice"
            value={value === 'true' || value === 'false' ? value : null}
            placeholder={t('param.choose')}
            options={['true', 'false'].map((option) => ({ value: option, label: option }))}
            onChange={(chosen) => onChange(chosen ?? undefined)}
          />
        );
      return (
        <Switch
          {...tied}
          checked={value === undefined ? field.fallback === true : value === 'true'}
          onChange={(on) => onChange(String(on))}
        />
      );
    case 'choice':
      return (
        <ClearableSelect
          {...marked}
          className="param-choice"
          value={value === undefined || value === 'null' ? null : asOption(value)}
          placeholder={shown || t('param.choose')}
          options={field.options.map((option) => ({ value: option, label: textIn(option) ?? option }))}
          onChange={(chosen) => onChange(chosen ?? undefined)}
        />
      );
    case 'list':
      // A list of something else is not made one of texts.
      if (texts === undefined) return <Typed {...props} marked={marked} placeholder="" rows={2} />;
      return (
        <Select
          {...marked}
          className="param-choice"
          mode="tags"
          open={false}
          suffixIcon={null}
          tokenSeparators={[',', '\n']}
          value={texts}
          placeholder={t('param.list')}
          onChange={(names) => onChange(names.length > 0 ? JSON.stringify(names) : undefined)}
        />
      );
    case 'json':
      return <Typed {...props} marked={marked} placeholder="" rows={2} />;
    case 'date':
      return <Input {...marked} type="date" value={said} onChange={({ target }) => say(target.value)} />;
    case 'text':
      return <GrowingText {...marked} value={said} placeholder={shown} onChange={say} />;
  }
}

function fallbackText(fallback: unknown): string {
  if (fallback === undefined || fallback === null) return '';
  return typeof fallback === 'string' ? fallback : exactText(fallback);
}

/** A value that is typed as it is stored: a number, or JSON for which there is no simple entry. */
function Typed(props: EntryProps & { marked: Tied & { status?: 'error' }; placeholder: string; rows?: number }) {
  const { marked, field, value, typed, onChange, onTyped, placeholder, rows } = props;
  function change(text: string) {
    const read = readTyped(field, text);
    if (read === null) onTyped(text);
    else onChange(read);
  }
  const entry = {
    ...marked,
    placeholder,
    value: typed ?? (value === 'null' && rows === undefined ? '' : (value ?? '')),
  };
  if (rows === undefined) {
    return (
      <Input
        {...entry}
        className="param-number"
        inputMode={field.kind === 'integer' ? 'numeric' : 'decimal'}
        onChange={(event) => change(event.target.value)}
      />
    );
  }
  return <Input.TextArea {...entry} className="mono" rows={rows} onChange={(event) => change(event.target.value)} />;
}
