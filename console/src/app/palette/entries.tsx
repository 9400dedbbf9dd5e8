// What the palette offers: pages, jobs and what may be done to them, executions by their number, executors, saved views,
// and what can be chosen. Only what the person may do is there.

import {
  BgColorsOutlined,
  CaretRightOutlined,
  ClusterOutlined,
  GlobalOutlined,
  LogoutOutlined,
  PauseOutlined,
  QuestionOutlined,
  ScheduleOutlined,
  SearchOutlined,
  StarOutlined,
  UnorderedListOutlined,
} from '@ant-design/icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { signOut, useMay } from '@/api/session';
import { useOfferedPages } from '@/app/offeredPages';
import { type FoundJob, foundJobsQuery, jobsQuery, paletteExecutorsQuery } from '@/app/palette/queries';
import { usePreference } from '@/app/preferences';
import { LANGUAGE_NAMES, LANGUAGES } from '@/i18n/languages';
import { useLive } from '@/live/LiveProvider';
import { useLeaving } from '@/parts/useUnsaved';
import { addressOf } from '@/parts/views/views';

export const SECTIONS = ['number', 'pages', 'views', 'jobs', 'actions', 'executors', 'choices', 'search'] as const;
export type Section = (typeof SECTIONS)[number];

/** What changes a job is asked about first. */
export interface JobDeed {
  job: FoundJob;
  what: 'run' | 'start' | 'stop';
}

export type Deed = { to: string } | { act: () => void } | JobDeed;

export interface Entry {
  key: string;
  section: Section;
  name: string;
  hint?: string;
  icon: ReactNode;
  deed: Deed;
}

/** Everything that could be meant; `query` decides only what depends on it. */
export function useEntries(query: string, open: boolean, showKeys: () => void): Entry[] {
  const pages = usePages();
  const views = useViews();
  const jobs = useJobs(query, open);
  const executors = useExecutors(open);
  const choices = useChoices(showKeys);
  const typed = useTyped(query);
  return [...typed, ...pages, ...views, ...jobs, ...executors, ...choices];
}

/** What was typed, as a number of an execution and as a text to look for. */
function useTyped(query: string): Entry[] {
  const { t } = useTranslation('palette');
  const text = query.trim();
  const id = /^#?([1-9]\d{0,14})$/.exec(text)?.[1];
  if (!text) return [];
  const entries: Entry[] = [];
  const icon = <UnorderedListOutlined />;
  if (id) {
    const name = t('execution', { id });
    entries.push({ key: 'execution', section: 'number', name, icon, deed: { to: `/executions/${id}` } });
    const log = t('log', { id });
    entries.push({ key: 'log', section: 'number', name: log, icon, deed: { to: `/executions/${id}/log` } });
  }
  const deed = { to: `/executions?${new URLSearchParams({ text: text.slice(0, 200) })}` };
  entries.push({ key: 'text', section: 'search', name: t('searchFor', { text }), icon: <SearchOutlined />, deed });
  return entries;
}

function usePages(): Entry[] {
  const { t } = useTranslation(['palette', 'common']);
  return useOfferedPages().flatMap(({ path, nav }): Entry[] =>
    nav
      ? [
          {
            key: `page ${path}`,
            section: 'pages',
            name: t(`common:nav.${nav.key}`),
            icon: nav.icon,
            deed: { to: path },
          },
        ]
      : [],
  );
}

function useViews(): Entry[] {
  const [views] = usePreference('views');
  return views.map((view) => ({
    key: `view ${view.page} ${view.name}`,
    section: 'views',
    name: view.name,
    hint: view.page,
    icon: <StarOutlined />,
    deed: { to: addressOf(view) },
  }));
}

/** Jobs by name, and for those that one may operate: run, start and stop. */
function useJobs(query: string, open: boolean): Entry[] {
  const { t } = useTranslation('palette');
  const may = useMay();
  const first = useQuery({ ...jobsQuery, enabled: open }).data;
  const further = useQuery({ ...foundJobsQuery(query.trim()), enabled: open && !!first?.more && !!query.trim() }).data;
  const jobs = new Map([...(first?.jobs ?? []), ...(further ?? [])].map((job) => [job.id, job]));
  return [...jobs.values()].flatMap((job): Entry[] => {
    const own = { name: job.name, hint: `#${job.id}` };
    const known: Entry = {
      ...own,
      key: `job ${job.id}`,
      section: 'jobs',
      icon: <ScheduleOutlined />,
      deed: { to: `/jobs/${job.id}` },
    };
    if (!may('operate', job.group)) return [known];
    const deeds: JobDeed['what'][] = ['run', ...(job.scheduled ? ([job.started ? 'stop' : 'start'] as const) : [])];
    const actions = deeds.map(
      (what): Entry => ({
        ...own,
        key: `${what} ${job.id}`,
        section: 'actions',
        name: t(`actions.${what}`, { name: job.name }),
        icon: what === 'stop' ? <PauseOutlined /> : <CaretRightOutlined />,
        deed: { job, what },
      }),
    );
    return [known, ...actions];
  });
}

function useExecutors(open: boolean): Entry[] {
  const found = useQuery({ ...paletteExecutorsQuery, enabled: open }).data?.items ?? [];
  return found.map((one) => ({
    key: `executor ${one.app_name} ${one.address}`,
    section: 'executors',
    name: one.address.replace(/^https?:\/\//, ''),
    hint: one.app_name,
    icon: <ClusterOutlined />,
    deed: { to: `/executions?${new URLSearchParams({ executor: one.address })}` },
  }));
}

/** Language, theme, live updates, the sheet of keys and the way out. */
function useChoices(showKeys: () => void): Entry[] {
  const { t } = useTranslation(['palette', 'common']);
  const queries = useQueryClient();
  const leaving = useLeaving();
  const [language, speak] = usePreference('language');
  const [theme, paint] = usePreference('theme');
  const live = useLive();
  const one = (key: string, name: string, icon: ReactNode, act: () => void, hint?: string): Entry => ({
    key,
    section: 'choices',
    name,
    icon,
    deed: { act },
    ...(hint && { hint }),
  });
  return [
    ...(['system', 'light', 'dark'] as const)
      .filter((name) => name !== theme)
      .map((name) =>
        one(`theme ${name}`, t('themeTo', { name: t(`common:theme.${name}`) }), <BgColorsOutlined />, () =>
          paint(name),
        ),
      ),
    ...LANGUAGES.filter((name) => name !== language).map((name) =>
      one(`language ${name}`, t('languageTo', { name: LANGUAGE_NAMES[name] }), <GlobalOutlined />, () => speak(name)),
    ),
    one(
      'live',
      t(live.paused ? 'common:live.resume' : 'common:live.pause'),
      live.paused ? <CaretRightOutlined /> : <PauseOutlined />,
      () => live.setPaused(!live.paused),
    ),
    one('keys', t('keys.title'), <QuestionOutlined />, showKeys, '?'),
    one('out', t('common:user.signOut'), <LogoutOutlined />, () => leaving(() => void signOut(queries))),
  ];
}
