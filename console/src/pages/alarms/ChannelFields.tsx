import { DeleteOutlined, PlusOutlined } from '@ant-design/icons';
import { Button, Form, Input, Radio, Select, Switch } from 'antd';
import { useTranslation } from 'react-i18next';
import { type ChannelForm, type ChannelKind, isJson, PRESETS, SIGNED } from '@/pages/alarms/channelForm';
import { TemplatePreview } from '@/pages/alarms/TemplatePreview';
import { InputNumber } from '@/parts/InputNumber';

/** The fields of a channel, by its kind. `stored`: an empty secret stays what it is. */
export function ChannelFields({ stored }: { stored: boolean }) {
  const { t } = useTranslation('alarms');
  const kind = Form.useWatch<ChannelKind | undefined>('kind');
  return (
    <>
      <Form.Item name="name" label={t('channels.name')} rules={[{ required: true, message: t('required') }]}>
        <Input maxLength={64} />
      </Form.Item>
      <Form.Item name="kind" label={t('channels.kind')}>
        <Radio.Group
          optionType="button"
          disabled={stored}
          options={(['webhook', 'mail', 'apprise'] as const).map((one) => ({
            value: one,
            label: t(`channels.kinds.${one}`),
          }))}
        />
      </Form.Item>
      {kind === 'mail' && <MailFields stored={stored} />}
      {kind === 'webhook' && <WebhookFields stored={stored} />}
      {kind === 'apprise' && <AppriseFields stored={stored} />}
      <Form.Item name="enabled" label={t('channels.enabled')} valuePropName="checked">
        <Switch />
      </Form.Item>
    </>
  );
}

function MailFields({ stored }: { stored: boolean }) {
  const { t } = useTranslation('alarms');
  return (
    <>
      <Form.Item name="to" label={t('mail.to')} extra={t('mail.toHint')}>
        <Select mode="tags" tokenSeparators={[',', ' ', ';']} open={false} suffixIcon={null} />
      </Form.Item>
      <div className="field-row">
        <Form.Item name="host" label={t('mail.host')} extra={t('mail.hostHint')}>
          <Input maxLength={253} />
        </Form.Item>
        <Form.Item name="port" label={t('mail.port')}>
          <InputNumber min={1} max={65_535} />
        </Form.Item>
        <Form.Item name="security" label={t('mail.security')}>
          <Select
            options={(['starttls', 'tls', 'none'] as const).map((one) => ({ value: one, label: t(`mail.${one}`) }))}
          />
        </Form.Item>
      </div>
      <Form.Item name="sender" label={t('mail.sender')}>
        <Input maxLength={255} />
      </Form.Item>
      <div className="field-row">
        <Form.Item name="username" label={t('mail.username')}>
          <Input maxLength={255} autoComplete="off" />
        </Form.Item>
        <Form.Item name="password" label={t('mail.password')}>
          <Input.Password
            maxLength={255}
            autoComplete="new-password"
            placeholder={stored ? t('channels.unchanged') : undefined}
          />
        </Form.Item>
      </div>
    </>
  );
}

function WebhookFields({ stored }: { stored: boolean }) {
  const { t } = useTranslation('alarms');
  const preset = Form.useWatch<ChannelForm['preset']>('preset');
  const unchanged = stored ? t('channels.unchanged') : undefined;
  return (
    <>
      <Form.Item name="preset" label={t('webhook.preset')}>
        <Select options={PRESETS.map((one) => ({ value: one, label: t(`webhook.presets.${one}`) }))} />
      </Form.Item>
      <Form.Item
        name="url"
        label={t('webhook.url')}
        rules={stored ? [] : [{ required: true, message: t('required') }]}
        extra={t('webhook.urlHint')}
      >
        <Input maxLength={2000} placeholder={unchanged ?? 'https://'} autoComplete="off" />
      </Form.Item>
      {preset && SIGNED.includes(preset) && (
        <Form.Item name="secret" label={t('webhook.secret')}>
          <Input.Password maxLength={500} autoComplete="new-password" placeholder={unchanged} />
        </Form.Item>
      )}
      <Headers unchanged={unchanged} />
      <Form.Item
        name="template"
        label={t('webhook.template')}
        extra={t('webhook.templateHint')}
        rules={[
          {
            validator: (_, text?: string) =>
              !text?.trim() || isJson(text) ? Promise.resolve() : Promise.reject(new Error(t('webhook.notJson'))),
          },
        ]}
      >
        <Input.TextArea className="mono" rows={3} />
      </Form.Item>
      <TemplatePreview />
    </>
  );
}

function Headers({ unchanged }: { unchanged: string | undefined }) {
  const { t } = useTranslation('alarms');
  return (
    <Form.Item label={t('webhook.headers')}>
      <Form.List name="headers">
        {(fields, { add, remove }) => (
          <>
            {fields.map(({ key, name }) => (
              <div className="header-row" key={key}>
                <Form.Item name={[name, 'name']} rules={[{ required: true, message: t('required') }]}>
                  <Input placeholder="Authorization" aria-label={t('webhook.headerName')} maxLength={64} />
                </Form.Item>
                <Form.Item name={[name, 'value']}>
                  <Input.Password
                    placeholder={unchanged}
                    aria-label={t('webhook.headerValue')}
                    autoComplete="new-password"
                    maxLength={2000}
                  />
                </Form.Item>
                <Button
                  type="text"
                  icon={<DeleteOutlined />}
                  aria-label={t('webhook.removeHeader')}
                  onClick={() => remove(name)}
                />
              </div>
            ))}
            <Button size="small" icon={<PlusOutlined />} onClick={() => add({})}>
              {t('webhook.addHeader')}
            </Button>
          </>
        )}
      </Form.List>
    </Form.Item>
  );
}

function AppriseFields({ stored }: { stored: boolean }) {
  const { t } = useTranslation('alarms');
  return (
    <Form.Item
      name="urls"
      label={t('apprise.urls')}
      extra={t('apprise.urlsHint')}
      rules={stored ? [] : [{ required: true, message: t('required') }]}
    >
      <Input.TextArea className="mono" rows={3} placeholder={stored ? t('channels.unchanged') : 'ntfy://…'} />
    </Form.Item>
  );
}
