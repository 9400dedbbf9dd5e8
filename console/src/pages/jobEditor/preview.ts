// What a schedule would do, asked of the server while somebody types.

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Form } from 'antd';
import { api, got } from '@/api/client';
import { Problem } from '@/api/problem';
import type { SchedulePreview } from '@/api/types';
import type { Draft } from '@/parts/job/draft';
import { useSettled } from '@/parts/useSettled';

export interface Preview {
  /** Why there is nothing to ask about: it does not fire by itself, or its schedule is still to be written. */
  nothing: 'byHand' | 'unwritten' | null;
  shown: SchedulePreview | undefined;
  problem: Problem | null;
}

/** Of the form around the component that asks. */
export function usePreview(): Preview {
  const form = Form.useFormInstance<Draft>();
  const type = Form.useWatch('schedule_type', form);
  const watched = {
    schedule_type: type ?? 'NONE',
    schedule_conf: Form.useWatch('schedule_conf', form) ?? '',
    timezone: Form.useWatch('timezone', form) ?? null,
    dst_policy: Form.useWatch('dst_policy', form) ?? 'auto',
    calendar_id: Form.useWatch('calendar_id', form) ?? null,
  };
  const asked = useSettled(JSON.stringify(watched));
  const wanted = isSchedule(watched);
  const query = useQuery({
    queryKey: ['preview', asked],
    queryFn: () => got(api.POST('/api/v1/schedules/preview', { body: JSON.parse(asked) })),
    enabled: wanted && isSchedule(JSON.parse(asked)),
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (!wanted) return { nothing: nothingFor(type), shown: undefined, problem: null };
  const problem = query.error instanceof Problem ? query.error : null;
  return { nothing: null, shown: problem ? undefined : query.data, problem };
}

function nothingFor(type: Draft['schedule_type'] | undefined): Preview['nothing'] {
  if (type === undefined) return null;
  return type === 'NONE' ? 'byHand' : 'unwritten';
}

/** Before the form is filled, and without a schedule, there is nothing to ask. */
function isSchedule({ schedule_type, schedule_conf }: Pick<Draft, 'schedule_type' | 'schedule_conf'>): boolean {
  return schedule_type !== 'NONE' && schedule_conf.trim() !== '';
}

/** The text with carets below the place of the trouble, where the server says where it is. */
export function pointerOf(problem: Problem): string | null {
  const place = problem.errors.find(({ text }) => text);
  if (!place?.text || place.position == null) return null;
  return `${place.text}\n${' '.repeat(place.position)}${'^'.repeat(Math.max(1, place.length ?? 1))}`;
}
