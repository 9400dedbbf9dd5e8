import { describe, expect, it } from 'vitest';
import { definitionOf, formOf, isJson, NEW_CHANNEL } from '@/pages/alarms/channelForm';

const stored = { id: 1, name: 'ops', enabled: true, version: 1 };

describe('the form of a channel', () => {
  it('shows no secret, and keeps those that are not written anew', () => {
    const definition = {
      url: 'https://chat.example.org/********',
      preset: 'feishu',
      template: null,
      secret: '********',
      headers: { 'X-Team': '********' },
    };
    const form = formOf({ ...stored, kind: 'webhook', definition });
    expect(JSON.stringify(form)).not.toContain('example.org');
    expect(definitionOf(form)).toEqual({ preset: 'feishu', template: null, headers: { 'X-Team': '********' } });
  });

  it('takes the secret away from a receiver that checks none', () => {
    expect(definitionOf({ ...NEW_CHANNEL, url: ' https://a.example/x ', preset: 'slack', secret: 'abc' })).toEqual({
      url: 'https://a.example/x',
      preset: 'slack',
      template: null,
      headers: {},
      secret: null,
    });
  });

  it('sends a new password, keeps an old one, and removes it with its user', () => {
    const mail = { ...NEW_CHANNEL, kind: 'mail' as const, host: 'mail.example.org', username: 'orth' };
    expect(definitionOf({ ...mail, password: 'new one' })).toMatchObject({ password: 'new one' });
    expect(definitionOf(mail)).not.toHaveProperty('password');
    expect(definitionOf({ ...mail, username: '' })).toMatchObject({ username: null, password: null });
  });

  it('has a receiver on each line', () => {
    const apprise = { ...NEW_CHANNEL, kind: 'apprise' as const };
    expect(definitionOf({ ...apprise, urls: ' tgram://a/b \n\n ntfy://c' })).toEqual({
      urls: ['tgram://a/b', 'ntfy://c'],
    });
    expect(definitionOf(apprise)).toEqual({});
  });

  it('has a template only when it is JSON', () => {
    expect(isJson('{')).toBe(false);
    expect(isJson('{"a": 1}')).toBe(true);
    expect(definitionOf({ ...NEW_CHANNEL, template: '{"text":"{title}"}' })).toMatchObject({
      template: { text: '{title}' },
    });
  });
});
