import { Button, Form, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { type ChannelForm, isJson } from '@/pages/alarms/channelForm';
import type { Preview } from '@/pages/alarms/queries';
import { ProblemNotice } from '@/parts/ProblemNotice';

const KINDS = ['first', 'repeat', 'resolved'] as const;

/** What the receiver would get about an execution that is made up; nothing is sent. */
export function TemplatePreview() {
  const { t } = useTranslation('alarms');
  const form = Form.useFormInstance<ChannelForm>();
  const [kind, setKind] = useState<(typeof KINDS)[number]>('first');
  const [shown, setShown] = useState<Preview | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  async function look() {
    const { preset = 'plain', template } = form.getFieldsValue(['preset', 'template']);
    if (template?.trim() && !isJson(template)) return void form.validateFields(['template']).catch(() => {});
    setBusy(true);
    setError(null);
    try {
      const body = { preset, kind, template: template?.trim() ? JSON.parse(template) : null };
      setShown(await got(api.POST('/api/v1/alarms/preview', { body })));
    } catch (reason) {
      setShown(null);
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <div className="template-preview">
      <div className="preview-bar">
        <Select
          size="small"
          aria-label={t('preview.kind')}
          value={kind}
          onChange={setKind}
          options={KINDS.map((one) => ({ value: one, label: t(`kind.${one}`) }))}
        />
        <Button size="small" loading={busy} onClick={look}>
          {t('preview.show')}
        </Button>
      </div>
      {error !== null && <ProblemNotice error={error} />}
      {shown && (
        <section aria-label={t('preview.label')}>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a long message scrolls, also by keyboard
            tabIndex={0}
          >
            {JSON.stringify(shown.body, null, 2)}
          </pre>
        </section>
      )}
    </div>
  );
}
