import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { KEYS } from '@/app/keys';
import { Dialog } from '@/parts/Dialog';

/** Which keys there are. */
export function KeySheet({ open, close }: { open: boolean; close: () => void }) {
  const { t } = useTranslation('palette');
  return (
    <Dialog open={open} onCancel={close} footer={null} title={t('keys.title')} destroyOnHidden>
      <div className="key-sheet">
        <Keys title={t('keys.everywhere.title')} names={KEYS.everywhere} say={(name) => t(`keys.everywhere.${name}`)} />
        <Keys title={t('keys.lists.title')} names={KEYS.lists} say={(name) => t(`keys.lists.${name}`)} />
        <Keys title={t('keys.execution.title')} names={KEYS.execution} say={(name) => t(`keys.execution.${name}`)} />
      </div>
    </Dialog>
  );
}

interface Props<Name extends string> {
  title: string;
  names: Record<Name, readonly string[]>;
  say: (name: Name) => string;
}

function Keys<Name extends string>({ title, names, say }: Props<Name>) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {(Object.entries(names) as [Name, readonly string[]][]).map(([name, keys]) => (
          <div key={name}>
            <dt>{say(name)}</dt>
            <dd>
              {keys.map((key, index) => (
                <Fragment key={key}>
                  {index > 0 && ' '}
                  <kbd>{key}</kbd>
                </Fragment>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
