import type { TFunction } from 'i18next';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { useGroups } from '@/api/groups';
import type { Draft, DraftField } from '@/parts/job/draft';
import { visibleLines } from '@/parts/log/ansi';
import { duration } from '@/parts/time/format';

type Schedule = Draft['schedule_type'];
type Dst = Draft['dst_policy'];
type Misfire = Draft['misfire_strategy'];
type Route = Draft['executor_route_strategy'];
type Block = Draft['executor_block_strategy'];
type Overlap = Draft['overlap'];
type ChildParam = Draft['child_param'];
type Priority = 0 | 1 | 2 | 3;
type Texts = TFunction<['jobEditor']>;

/** The value of a field as people read it: what turns or hides text is spelled out. */
export function useFieldText(): (field: DraftField, value: unknown) => string {
  const { t } = useTranslation(['jobEditor']);
  const groups = useGroups();
  return useCallback(
    (field, value) => (field === 'job_group' ? groups.name(Number(value)) : fieldText(t, field, value)),
    [t, groups],
  );
}

function fieldText(t: Texts, field: DraftField, value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (Array.isArray(value)) return value.length === 0 ? '–' : visibleLines(value.join(', '));
  if (typeof value === 'boolean') return value ? t('yes') : t('no');
  const name = nameOf(t, field, value as never);
  if (name !== null) return name;
  if (field === 'executor_timeout') return value === 0 ? t('noLimit') : duration(Number(value) * 1000);
  if (field === 'lost_after') return value === 0 ? t('bySettings') : duration(Number(value) * 1000);
  if (field === 'jitter') return duration(Number(value));
  return visibleLines(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Choices have names in every language. */
function nameOf(t: Texts, field: DraftField, value: never): string | null {
  switch (field) {
    case 'schedule_type':
      return t(`schedule.${value as Schedule}.name`);
    case 'dst_policy':
      return t(`dst.${value as Dst}.name`);
    case 'misfire_strategy':
      return t(`misfire.${value as Misfire}.name`);
    case 'executor_route_strategy':
      return t(`route.${value as Route}.name`);
    case 'executor_block_strategy':
      return t(`block.${value as Block}.name`);
    case 'overlap':
      return t(`overlap.${value as Overlap}.name`);
    case 'child_param':
      return t(`childParam.${value as ChildParam}.name`);
    case 'priority':
      return t(`priority.${value as Priority}.name`);
    default:
      return null;
  }
}
