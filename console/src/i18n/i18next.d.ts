// With this a key that does not exist is a type error.

import 'i18next';
import type account from './locales/en/account.json';
import type admin from './locales/en/admin.json';
import type alarms from './locales/en/alarms.json';
import type cluster from './locales/en/cluster.json';
import type code from './locales/en/code.json';
import type common from './locales/en/common.json';
import type dashboard from './locales/en/dashboard.json';
import type execution from './locales/en/execution.json';
import type executions from './locales/en/executions.json';
import type executors from './locales/en/executors.json';
import type jobEditor from './locales/en/jobEditor.json';
import type jobs from './locales/en/jobs.json';
import type lifecycle from './locales/en/lifecycle.json';
import type log from './locales/en/log.json';
import type login from './locales/en/login.json';
import type palette from './locales/en/palette.json';
import type roles from './locales/en/roles.json';
import type scripts from './locales/en/scripts.json';
import type settings from './locales/en/settings.json';
import type settingTexts from './locales/en/settingTexts.json';
import type status from './locales/en/status.json';
import type timeline from './locales/en/timeline.json';
import type why from './locales/en/why.json';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common';
    resources: {
      common: typeof common;
      why: typeof why;
      dashboard: typeof dashboard;
      execution: typeof execution;
      executions: typeof executions;
      jobEditor: typeof jobEditor;
      jobs: typeof jobs;
      log: typeof log;
      login: typeof login;
      cluster: typeof cluster;
      code: typeof code;
      executors: typeof executors;
      lifecycle: typeof lifecycle;
      account: typeof account;
      admin: typeof admin;
      alarms: typeof alarms;
      roles: typeof roles;
      scripts: typeof scripts;
      settings: typeof settings;
      settingTexts: typeof settingTexts;
      palette: typeof palette;
      status: typeof status;
      timeline: typeof timeline;
    };
  }
}
