import { useQueryClient } from '@tanstack/react-query';
import { App, Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Script } from '@/api/scripts';
import type { Tagged } from '@/api/tagged';
import { saveScript } from '@/pages/scripts/queries';
import { CodeDiff } from '@/parts/code/LazyCode';
import type { CodeKind } from '@/parts/code/languages';
import { Dialog } from '@/parts/Dialog';
import { ProblemNotice } from '@/parts/ProblemNotice';

export interface Refused {
  theirs: Tagged<Script>;
  /** What one wanted to say of one's own; null while one has not wanted to save it. */
  remark: string | null;
}

interface Props {
  refused: Refused;
  script: Script;
  mine: string;
  close: () => void;
  forget: () => void;
}

/** Somebody else saved first: both texts side by side, and a decision. Nothing is lost before it is made. */
export function Conflict({ refused: { theirs, remark }, script, mine, close, forget }: Props) {
  const { t } = useTranslation('scripts');
  const { message } = App.useApp();
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);

  async function takeMine(saying: string) {
    try {
      await saveScript(script.job_id, theirs.etag, mine, saying);
    } catch (reason) {
      setError(reason);
      return;
    }
    message.success(t('save.done'));
    await takeTheirs();
  }

  async function takeTheirs() {
    await queries.invalidateQueries({ queryKey: ['scripts'] });
    forget();
    close();
  }

  return (
    <Dialog
      open
      width={1100}
      title={t('conflict.title', { author: theirs.value.author })}
      onCancel={close}
      footer={[
        <Button key="later" onClick={close}>
          {t('conflict.later')}
        </Button>,
        <Button key="theirs" onClick={() => void takeTheirs()}>
          {t('conflict.theirs')}
        </Button>,
        remark !== null && (
          <Button key="mine" type="primary" danger onClick={() => void takeMine(remark)}>
            {t('conflict.mine')}
          </Button>
        ),
      ]}
    >
      <p>{t('conflict.text')}</p>
      <CodeDiff
        kind={theirs.value.glue_type as CodeKind}
        before={{ name: t('conflict.saved'), text: theirs.value.glue_source }}
        after={{ name: t('conflict.own'), text: mine }}
      />
      {error !== null && <ProblemNotice error={error} />}
    </Dialog>
  );
}
