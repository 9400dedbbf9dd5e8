// With this a key that does not exist is a type error.

import 'i18next';
import type common from './locales/en/common.json';
import type dashboard from './locales/en/dashboard.json';
import type executions from './locales/en/executions.json';
import type login from './locales/en/login.json';
import type status from './locales/en/status.json';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common';
    resources: {
      common: typeof common;
      dashboard: typeof dashboard;
      executions: typeof executions;
      login: typeof login;
      status: typeof status;
    };
  }
}
