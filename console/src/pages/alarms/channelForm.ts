// Between what a channel is and what its form shows. Secrets are written and never read: a field that is left empty keeps
// what is stored.

import type { Channel } from '@/pages/alarms/queries';

export type ChannelKind = 'mail' | 'webhook' | 'apprise';
export const PRESETS = ['plain', 'slack', 'teams', 'dingtalk', 'wecom', 'feishu'] as const;
export type Preset = (typeof PRESETS)[number];
/** Receivers that check a signature made with a secret. */
export const SIGNED: readonly Preset[] = ['dingtalk', 'feishu'];
const KEPT = '********';

export interface ChannelForm {
  name: string;
  kind: ChannelKind;
  enabled: boolean;
  host?: string;
  port?: number;
  security?: 'none' | 'starttls' | 'tls';
  username?: string;
  password?: string;
  sender?: string;
  to?: string[];
  url?: string;
  preset?: Preset;
  secret?: string;
  template?: string;
  headers?: { name: string; value?: string }[];
  urls?: string;
}

type Definition = Record<string, unknown>;

export const NEW_CHANNEL: ChannelForm = {
  name: '',
  kind: 'webhook',
  enabled: true,
  preset: 'plain',
  port: 587,
  security: 'starttls',
  to: [],
  headers: [],
};

/** What the form of a stored channel begins with: everything but its secrets. */
export function formOf({ name, kind, enabled, definition }: Channel): ChannelForm {
  const stored = definition as Definition;
  const common = { ...NEW_CHANNEL, name, kind: kind as ChannelKind, enabled };
  if (kind === 'mail') {
    const { host, port, security, username, sender, to } = stored as Partial<ChannelForm>;
    return { ...common, host, port, security, username, sender, to: to ?? [] };
  }
  if (kind === 'apprise') return common;
  const headers = Object.keys((stored.headers as object | undefined) ?? {}).map((header) => ({ name: header }));
  const template = stored.template === null ? undefined : JSON.stringify(stored.template, null, 2);
  return { ...common, preset: stored.preset as Preset, headers, template };
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What is sent to be stored. The template has to be JSON. */
export function definitionOf(form: ChannelForm): Definition {
  if (form.kind === 'mail') return mailOf(form);
  if (form.kind === 'apprise') {
    const urls = (form.urls ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
    return urls.length > 0 ? { urls } : {};
  }
  const preset = form.preset ?? 'plain';
  return {
    preset,
    template: form.template?.trim() ? JSON.parse(form.template) : null,
    headers: Object.fromEntries((form.headers ?? []).map(({ name, value }) => [name, value || KEPT])),
    ...(form.url && { url: form.url.trim() }),
    ...(SIGNED.includes(preset) ? form.secret && { secret: form.secret } : { secret: null }),
  };
}

function mailOf({ host, port, security, username, password, sender, to }: ChannelForm): Definition {
  return {
    host: host || null,
    port: port ?? 587,
    security: security ?? 'starttls',
    username: username || null,
    sender: sender || null,
    to: to ?? [],
    ...(username ? password && { password } : { password: null }),
  };
}
