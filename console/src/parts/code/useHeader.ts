import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type CodeType, type Header, headerQuery, type Script } from '@/api/scripts';
import { useSettled } from '@/parts/useSettled';

const NOTHING: Header = { requirements: [], requires_python: null, params_schema: null, header_trouble: null };
const BEFORE_CODE = /^(?:[ \t\r]*\n|(?:#|\/\/|<\?php)[^\n]*(?:\n|$))*/;

/** What can be a header: the comments before the code. Whoever writes further below asks nothing new. */
export function beforeCode(source: string): string {
  const head = BEFORE_CODE.exec(source)?.[0] ?? '';
  return head.includes('/// script') ? head : '';
}

/** What code says of itself, asked of the server while somebody types; of the code as it is saved it is known. */
export function useHeader(kind: CodeType, source: string, saved?: Script): Header {
  const head = useSettled(beforeCode(source));
  const known = saved !== undefined && beforeCode(saved.glue_source) === head;
  const asked = useQuery({
    ...headerQuery(kind, head),
    enabled: !known && head !== '',
    placeholderData: keepPreviousData,
  });
  if (known) return saved;
  return head === '' ? NOTHING : (asked.data ?? saved ?? NOTHING);
}
