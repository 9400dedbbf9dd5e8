import { jobs } from './stage';

/** The pages, by what they are about: those of one story are opened in one browser session, which keeps the files. */
export const EVERY_PAGE: Record<string, string[]> = {
  dashboard: ['/', '/lifecycle', '/cluster'],
  jobs: ['/jobs', '/jobs?text=zzz', `/jobs/${jobs['Greet the customers']}`],
  'jobs that are written': ['/jobs/new', `/jobs/${jobs['Nightly report']}/edit`],
  executions: ['/executions', '/executions/1', '/executions/1/log'],
  timeline: ['/timeline', '/timeline?view=table', '/executors'],
  alarms: ['/alarms', '/alarms/history', '/alarms/rules', '/alarms/channels', '/alarms/silences'],
  scripts: ['/scripts', `/scripts/${jobs['Clean the archive']}`],
  admin: ['/admin/users', '/admin/tokens', '/admin/secrets', '/admin/audit'],
  oneself: ['/settings', '/account'],
};
