import { InputNumber as AntdNumber, type GetRef, type InputNumberProps } from 'antd';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';

/** A number. Ant Design names the two buttons at its end in English only. */
export function InputNumber(props: InputNumberProps<number>) {
  const { t } = useTranslation('common');
  const field = useRef<GetRef<typeof AntdNumber>>(null);
  const names = { up: t('increase'), down: t('decrease') };
  useEffect(() => {
    for (const [way, name] of Object.entries(names))
      field.current?.nativeElement.querySelector(`.ant-input-number-action-${way}`)?.setAttribute('aria-label', name);
  });
  return <AntdNumber<number> {...props} ref={field} />;
}
