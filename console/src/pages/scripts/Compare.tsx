import { useQuery } from '@tanstack/react-query';
import { Button, Select, Skeleton } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Script } from '@/api/scripts';
import { type Version, versionQuery } from '@/pages/scripts/queries';
import { CodeDiff } from '@/parts/code/LazyCode';
import type { CodeKind } from '@/parts/code/languages';
import { Dialog } from '@/parts/Dialog';

interface Props {
  script: Script;
  versions: Version[];
  /** The one to begin with. */
  version: Version;
  draft: string | null;
}

const NOW = 'now';

/** Two versions side by side; the newer may also be the code in the editor. */
export function Compare(props: Props) {
  const { t } = useTranslation('scripts');
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="small" type="text" onClick={() => setOpen(true)}>
        {t('compare.label')}
      </Button>
      <Dialog
        open={open}
        width={1100}
        title={t('compare.title')}
        footer={null}
        onCancel={() => setOpen(false)}
        destroyOnHidden
      >
        {open && <Sides {...props} />}
      </Dialog>
    </>
  );
}

function Sides({ script, versions, version, draft }: Props) {
  const { t } = useTranslation('scripts');
  const [before, setBefore] = useState<string>(String(version.id));
  const [after, setAfter] = useState<string>(NOW);
  const now = draft ?? script.glue_source;
  const left = useText(script, before, now);
  const right = useText(script, after, now);
  const options = [
    { value: NOW, label: draft === null ? t('compare.now') : t('compare.draft') },
    ...versions.map((one) => ({ value: String(one.id), label: `#${one.id} ${one.glue_remark}` })),
  ];
  const name = (key: string) => options.find((one) => one.value === key)?.label ?? key;
  return (
    <>
      <div className="compare-choices">
        <Select value={before} onChange={setBefore} options={options} aria-label={t('compare.before')} />
        <Select value={after} onChange={setAfter} options={options} aria-label={t('compare.after')} />
      </div>
      {left === null || right === null ? (
        <Skeleton active />
      ) : (
        <CodeDiff
          kind={script.glue_type as CodeKind}
          before={{ name: name(before), text: left }}
          after={{ name: name(after), text: right }}
        />
      )}
      {left !== null && left === right && <p className="muted">{t('compare.same')}</p>}
    </>
  );
}

/** The text a side has; null until it is known. */
function useText(script: Script, key: string, now: string): string | null {
  const version = useQuery({ ...versionQuery(script.job_id, Number(key)), enabled: key !== NOW });
  return key === NOW ? now : (version.data?.glue_source ?? null);
}
