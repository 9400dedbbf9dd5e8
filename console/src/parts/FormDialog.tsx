import { App, Button, type ButtonProps, Form } from 'antd';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import { Dialog } from '@/parts/Dialog';
import { keptOpen } from '@/parts/keptOpen';
import { ProblemNotice, useFieldSaying } from '@/parts/ProblemNotice';

interface Props<Values> {
  label: string;
  title: string;
  confirm: string;
  button?: ButtonProps;
  width?: number;
  /** What the form begins with; asked for when it opens, if it is a function. */
  initial?: Partial<Values> | (() => Promise<Partial<Values>>);
  /** The fields. */
  children: ReactNode;
  /** Does it; a text that says what came of it, or null when something else on the page says so. */
  act: (values: Values) => Promise<string | null>;
}

/** A button that opens a form. A refusal stays in the dialog, with its reason, and what was typed stays as well. */
export function FormDialog<Values extends object>(props: Props<Values>) {
  const { label, title, confirm, button, width = 520, initial = {}, children, act } = props;
  const { t } = useTranslation('common');
  const { message } = App.useApp();
  const sayField = useFieldSaying();
  const [form] = Form.useForm<Values>();
  const [begun, setBegun] = useState<Partial<Values> | null>(null);
  const [changed, setChanged] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const panel = useRef<HTMLDivElement>(null);

  /** One begins to type at once: the focus is in the first field, and not on what closes the dialog. */
  function focusFirst() {
    const fields = '.ant-modal-body :is(input, textarea, button, [tabindex="0"]):not(:disabled)';
    const inside = panel.current?.querySelector('.ant-modal-body')?.contains(document.activeElement);
    if (!inside) panel.current?.querySelector<HTMLElement>(fields)?.focus();
  }

  async function open() {
    setBusy(true);
    setError(null);
    setChanged(false);
    try {
      setBegun(typeof initial === 'function' ? await initial() : initial);
    } catch (reason) {
      setError(reason);
      setBegun({});
    } finally {
      setBusy(false);
    }
  }

  async function go(values: Values) {
    setBusy(true);
    setError(null);
    try {
      const done = await act(values);
      if (done !== null) message.success(done);
      setBegun(null);
    } catch (reason) {
      setError(reason);
      markFields(reason);
    } finally {
      setBusy(false);
    }
  }

  /** Where the form has a field of the API: what is nested there may stand alone here. */
  function place(field: string): string[] {
    const path = field.split('.');
    return form.getFieldInstance(path as unknown as Parameters<typeof form.getFieldInstance>[0])
      ? path
      : path.slice(-1);
  }

  function markFields(reason: unknown) {
    if (!(reason instanceof Problem)) return;
    const fields = reason.errors.map((one) => ({ name: place(one.field), errors: [sayField(one)] }));
    form.setFields(fields as unknown as Parameters<typeof form.setFields>[0]);
  }

  return (
    <>
      <Button {...button} loading={busy && begun === null} onClick={() => void open()}>
        {label}
      </Button>
      <Dialog
        open={begun !== null}
        title={title}
        width={width}
        okText={confirm}
        cancelText={t('cancel')}
        okButtonProps={{ loading: busy }}
        onOk={() => form.submit()}
        onCancel={() => setBegun(null)}
        afterOpenChange={(shown) => shown && focusFirst()}
        panelRef={panel}
        {...keptOpen(changed)}
        destroyOnHidden
      >
        {begun && (
          <Form<Values>
            form={form}
            layout="vertical"
            preserve={false}
            initialValues={begun}
            onValuesChange={() => setChanged(true)}
            onFinish={(values) => void go(values)}
            autoComplete="off"
          >
            {children}
          </Form>
        )}
        {error !== null && <ProblemNotice error={error} />}
      </Dialog>
    </>
  );
}
