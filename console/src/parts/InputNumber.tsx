import { InputNumber as AntdNumber, type GetRef, type InputNumberProps } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';

/**
 * A number. Ant Design names the two buttons at its end in English only, and puts what is too small or too large within
 * its bounds without a word.
 */
export function InputNumber({ onInput, onBlur, ...props }: InputNumberProps<number>) {
  const { t, i18n } = useTranslation('common');
  const { min, max } = props;
  const field = useRef<GetRef<typeof AntdNumber>>(null);
  const typed = useRef(Number.NaN);
  const [bounded, setBounded] = useState(false);
  const names = { up: t('increase'), down: t('decrease') };
  useEffect(() => {
    for (const [way, name] of Object.entries(names))
      field.current?.nativeElement.querySelector(`.ant-input-number-action-${way}`)?.setAttribute('aria-label', name);
  });
  const written = (bound: number | undefined) => new Intl.NumberFormat(i18n.language).format(bound ?? 0);
  return (
    <>
      <AntdNumber<number>
        {...props}
        ref={field}
        onInput={(text) => {
          typed.current = Number(text);
          setBounded(false);
          onInput?.(text);
        }}
        onBlur={(event) => {
          setBounded(
            typed.current < (min ?? Number.NEGATIVE_INFINITY) || typed.current > (max ?? Number.POSITIVE_INFINITY),
          );
          onBlur?.(event);
        }}
      />
      {bounded && (
        <div className="cell-sub" role="status">
          {max === undefined
            ? t('bounded.below', { min: written(min) })
            : t('bounded.both', { min: written(min), max: written(max) })}
        </div>
      )}
    </>
  );
}
