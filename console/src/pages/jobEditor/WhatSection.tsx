import { useQuery } from '@tanstack/react-query';
import { AutoComplete, Checkbox, Form, Input, Select } from 'antd';
import { type ChangeEvent, useCallback, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useGroups } from '@/api/groups';
import { handlersQuery, inUseQuery, NOTHING_IN_USE } from '@/api/jobs';
import { scriptQuery } from '@/api/scripts';
import { useMay } from '@/api/session';
import type { Handler } from '@/api/types';
import { CODE, CODE_NAMES } from '@/pages/jobEditor/choices';
import { withLineEnds } from '@/parts/code/lineEnds';
import { useHeader } from '@/parts/code/useHeader';
import type { Draft } from '@/parts/job/draft';
import { ParameterField, type ParameterMode } from '@/parts/job/ParameterField';
import type { Wrong } from '@/parts/job/schema';
import { Panel } from '@/parts/Page';

interface Props {
  id: number | undefined;
  anyHandler: boolean;
  setAnyHandler: (any: boolean) => void;
  /** Is told what is wrong with the parameter as it stands. */
  onWrong: (wrong: Wrong[]) => void;
}

/** What runs, and with what. */
export function WhatSection({ id, anyHandler, setAnyHandler, onWrong }: Props) {
  const { t } = useTranslation('jobEditor');
  const may = useMay();
  const groups = useGroups();
  const form = Form.useFormInstance<Draft>();
  const group = Form.useWatch('job_group', form);
  const kind = useKind();
  const offered = useQuery({ ...handlersQuery(group ?? 0), enabled: !!group });
  const handlers = offered.data?.items ?? [];
  const inUse = useQuery(inUseQuery).data ?? NOTHING_IN_USE;
  const editable = groups.all.filter((one) => may('edit', one.id));
  return (
    <Panel title={t('sections.what')}>
      <Form.Item name="job_desc" label={t('fields.job_desc')} rules={[{ required: true, message: t('required') }]}>
        <Input maxLength={255} autoFocus={id === undefined} />
      </Form.Item>
      <div className="form-pair">
        <Form.Item name="job_group" label={t('fields.job_group')} rules={[{ required: true, message: t('required') }]}>
          <Select
            showSearch={{ optionFilterProp: 'label' }}
            options={editable.map((one) => ({ value: one.id, label: one.title || one.app_name }))}
          />
        </Form.Item>
        <Form.Item name="author" label={t('fields.author')}>
          <AutoComplete
            options={inUse.authors.map((value) => ({ value }))}
            showSearch={{ filterOption: true }}
            maxLength={64}
          />
        </Form.Item>
      </div>
      <Form.Item name="tags" label={t('fields.tags')} extra={t('help.tags')}>
        <Select
          mode="tags"
          maxCount={10}
          tokenSeparators={[',']}
          options={inUse.tags.map((value) => ({ value, label: value }))}
        />
      </Form.Item>
      <KindField id={id} group={group} />
      {kind === 'BEAN' && (
        <HandlerField
          handlers={handlers}
          asked={offered.isFetched}
          anyHandler={anyHandler}
          setAnyHandler={setAnyHandler}
        />
      )}
      {kind !== 'BEAN' && id !== undefined && (
        <p>
          <Link to={`/scripts/${id}`}>{t('code.elsewhere')}</Link>
        </p>
      )}
      {kind !== 'BEAN' && id === undefined && <CodeFields />}
      <Parameter id={id} offered={offered} onWrong={onWrong} />
      <Form.Item name="secrets" label={t('fields.secrets')} extra={t('help.secrets')}>
        <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ' ']} />
      </Form.Item>
    </Panel>
  );
}

/** Of a stored job it has no field, and is there all the same. */
function useKind() {
  const form = Form.useFormInstance<Draft>();
  return Form.useWatch('glue_type', { form, preserve: true }) ?? 'BEAN';
}

/** A handler, or code where group and rights allow it. Of a stored job the kind is changed with its code. */
function KindField({ id, group }: { id: number | undefined; group: number | undefined }) {
  const { t } = useTranslation('jobEditor');
  const may = useMay();
  const allowed = useGroups().all.find((one) => one.id === group)?.scripts_allowed ?? false;
  if (id !== undefined || !allowed || !may('script', group)) return null;
  return (
    <Form.Item name="glue_type" label={t('fields.glue_type')}>
      <Select
        options={[
          { value: 'BEAN', label: t('code.handler') },
          ...CODE.map((one) => ({ value: one, label: t('code.kind', { language: CODE_NAMES[one] }) })),
        ]}
      />
    </Form.Item>
  );
}

interface HandlerProps {
  handlers: Handler[];
  /** Whether it is known what the group offers. */
  asked: boolean;
  anyHandler: boolean;
  setAnyHandler: (any: boolean) => void;
}

function HandlerField({ handlers, asked, anyHandler, setAnyHandler }: HandlerProps) {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  const chosen: string = Form.useWatch('executor_handler') ?? '';
  const required = !(form.getFieldValue('super_task_id') > 0); // whose handler it runs, then
  const known = handlers.find((one) => one.name === chosen);
  const unknown = asked && chosen !== '' && !known;
  return (
    <>
      <Form.Item
        name="executor_handler"
        label={t('fields.executor_handler')}
        rules={[{ required, message: t('required') }]}
        extra={known?.description || (unknown && t('handler.unknown'))}
      >
        <AutoComplete
          options={handlers.map((one) => ({ value: one.name, description: one.description }))}
          optionRender={({ value, data }) => (
            <>
              <div className="mono">{value}</div>
              {data.description && <div className="option-help">{data.description}</div>}
            </>
          )}
          showSearch={{
            filterOption: (typed, option) => option?.value.toLowerCase().includes(typed.toLowerCase()) ?? false,
          }}
          placeholder={!asked || handlers.length > 0 ? t('handler.choose') : t('handler.nobody')}
        />
      </Form.Item>
      {(unknown || anyHandler) && (
        <Form.Item>
          <Checkbox checked={anyHandler} onChange={(event) => setAnyHandler(event.target.checked)}>
            {t('handler.any')}
          </Checkbox>
        </Form.Item>
      )}
    </>
  );
}

function CodeFields() {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  return (
    <>
      <Form.Item
        name="glue_source"
        label={t('fields.glue_source')}
        rules={[{ required: true, message: t('required') }]}
        getValueFromEvent={({ target }: ChangeEvent<HTMLTextAreaElement>) =>
          withLineEnds(target.value, form.getFieldValue('glue_source') ?? '')
        }
      >
        <Input.TextArea className="mono" rows={12} spellCheck={false} />
      </Form.Item>
      <Form.Item
        name="glue_remark"
        label={t('fields.glue_remark')}
        rules={[{ required: true, message: t('required') }]}
      >
        <Input maxLength={100} placeholder={t('code.remark')} />
      </Form.Item>
    </>
  );
}

/** The handlers that executors of the group offer, or that they are being asked for. */
type Offered = { data: { items: Handler[] } | undefined; isLoading: boolean };

/** What the handler takes, or the code: as it is saved, or as it is being written. */
function useSchema(id: number | undefined, { data: offered, isLoading }: Offered) {
  const form = Form.useFormInstance<Draft>();
  const chosen = Form.useWatch('executor_handler', form);
  const kind = useKind();
  const source = Form.useWatch('glue_source', form) ?? '';
  const coded = kind !== 'BEAN';
  const saved = useQuery({ ...scriptQuery(id ?? 0), enabled: coded && id !== undefined });
  const written = useHeader(kind, coded ? source : '');
  if (coded) {
    const schema = id === undefined ? written.params_schema : saved.data?.value.params_schema;
    return { schema, reading: saved.isLoading };
  }
  return { schema: offered?.items.find((one) => one.name === chosen)?.params_schema, reading: isLoading };
}

function Parameter({ id, offered, onWrong }: Pick<Props, 'id' | 'onWrong'> & { offered: Offered }) {
  const { t } = useTranslation(['jobEditor', 'jobs']);
  const { schema, reading } = useSchema(id, offered);
  // A job may be saved with what a run will still be given, and, as JSON, with what is meant though it seems wrong: one is
  // told before it is saved. What a field itself calls wrong is refused there.
  const refused = useRef(false);
  const heard = useCallback(
    (wrong: Wrong[], mode: ParameterMode) => {
      refused.current = mode === 'form' && wrong.some(({ trouble }) => trouble !== 'missing');
      onWrong(wrong);
    },
    [onWrong],
  );
  const right = async () => {
    if (refused.current) throw new Error(t('jobs:param.refused'));
  };
  return (
    <Form.Item
      name="executor_param"
      label={t('fields.executor_param')}
      rules={[{ validator: right, validateTrigger: 'onSubmit' }]}
    >
      <ParameterField schema={schema} reading={reading} onWrong={heard} />
    </Form.Item>
  );
}
