// What editors say, in the language of the page. They ask for it by its English words.

import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';

export type Phrases = Record<string, string>;

/** gates/phrases.test.ts finds what editors ask for and is not here. */
export function usePhrases(): Phrases {
  const { t } = useTranslation('code');
  return useMemo(
    () => ({
      Find: t('find'),
      Replace: t('replaceBy'),
      next: t('next'),
      previous: t('previous'),
      all: t('all'),
      'match case': t('case'),
      regexp: t('regex'),
      'by word': t('word'),
      replace: t('replace'),
      'replace all': t('replaceAll'),
      close: t('close'),
      'current match': t('match'),
      'on line': t('onLine'),
      'replaced match on line $': t('replaced'),
      'replaced $ matches': t('replacedAll'),
      'Go to line': t('line'),
      go: t('go'),
      'Selection deleted': t('deleted'),
      '$ unchanged lines': t('unchanged'),
    }),
    [t],
  );
}
