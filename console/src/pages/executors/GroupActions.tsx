import { PlusOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Form, Input, Radio, Select } from 'antd';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { gotTagged } from '@/api/tagged';
import type { Group } from '@/api/types';
import { ADMISSIONS, bodyOf, DIALECTS, formOf, type GroupForm, NEW_GROUP } from '@/pages/executors/groupForm';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { FormDialog } from '@/parts/FormDialog';
import { PermissionGate } from '@/parts/PermissionGate';

/** Whoever writes addresses decides where work goes: administrators only. */
export function AddGroup() {
  const { t } = useTranslation('executors');
  const look = useLook();
  return (
    <PermissionGate needs="administer">
      <FormDialog<GroupForm>
        label={t('group.add')}
        title={t('group.add')}
        confirm={t('group.create')}
        button={{ size: 'small', icon: <PlusOutlined /> }}
        initial={NEW_GROUP}
        act={async (form) => {
          await got(api.POST('/api/v1/groups', { body: bodyOf({ ...NEW_GROUP, ...form }) }));
          await look();
          return t('group.saved', { group: form.app_name });
        }}
      >
        <Fields stored={false} />
      </FormDialog>
    </PermissionGate>
  );
}

export function GroupActions({ group }: { group: Group }) {
  const { t } = useTranslation('executors');
  const look = useLook();
  const etag = useRef('');
  const path = { group_id: group.id };
  const name = group.title || group.app_name;
  const small = { size: 'small', type: 'text' } as const;
  return (
    <PermissionGate needs="administer">
      <span className="row-actions">
        <FormDialog<GroupForm>
          label={t('group.edit')}
          title={t('group.editTitle', { group: name })}
          confirm={t('group.save')}
          button={small}
          initial={async () => {
            const read = await gotTagged(api.GET('/api/v1/groups/{group_id}', { params: { path } }));
            etag.current = read.etag;
            return formOf(read.value);
          }}
          act={async (form) => {
            const params = { path, header: { 'if-match': etag.current } };
            const body = bodyOf({ ...NEW_GROUP, ...form, app_name: group.app_name });
            await got(api.PUT('/api/v1/groups/{group_id}', { params, body }));
            await look();
            return t('group.saved', { group: name });
          }}
        >
          <Fields stored />
        </FormDialog>
        <ConfirmAction
          label={t('group.delete')}
          title={t('group.deleteTitle', { group: name })}
          confirm={t('group.delete')}
          danger
          button={small}
          act={async () => {
            await got(api.DELETE('/api/v1/groups/{group_id}', { params: { path } }));
            await look();
            return t('group.deleted', { group: name });
          }}
        >
          <p>{t('group.deleteText')}</p>
        </ConfirmAction>
      </span>
    </PermissionGate>
  );
}

function useLook(): () => Promise<unknown> {
  const queries = useQueryClient();
  return () => Promise.all(['groups', 'executors'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
}

function Fields({ stored }: { stored: boolean }) {
  const { t } = useTranslation('executors');
  const manual = Form.useWatch<boolean | undefined>('manual');
  const required = [{ required: true, message: t('group.required') }];
  return (
    <>
      <Form.Item name="app_name" label={t('group.appName')} extra={t('group.appNameHint')} rules={required}>
        <Input className="mono" maxLength={64} disabled={stored} />
      </Form.Item>
      <Form.Item name="title" label={t('group.title')} extra={t('group.titleHint')}>
        <Input maxLength={64} />
      </Form.Item>
      <Form.Item name="manual" label={t('groups.addresses')}>
        <Radio.Group
          options={[
            { value: false, label: t('group.automatic') },
            { value: true, label: t('group.manual') },
          ]}
        />
      </Form.Item>
      {manual && (
        <Form.Item name="addresses" label={t('group.addresses')} extra={t('group.addressesHint')} rules={required}>
          <Select mode="tags" tokenSeparators={[',', ' ', '\n']} open={false} suffixIcon={null} />
        </Form.Item>
      )}
      <Form.Item name="dialect" label={t('groups.dialect')} extra={t('group.dialectHint')}>
        <Select options={DIALECTS.map((one) => ({ value: one, label: t(`dialect.${one}`) }))} />
      </Form.Item>
      <Form.Item name="admission" label={t('admission.label')} extra={t('admission.hint')}>
        <Radio.Group options={ADMISSIONS.map((one) => ({ value: one, label: t(`admission.${one}`) }))} />
      </Form.Item>
    </>
  );
}
