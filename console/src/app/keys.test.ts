import { describe, expect, it } from 'vitest';
import { asksForPalette, plainKey } from '@/app/keys';

function pressed(where: string, init: KeyboardEventInit): KeyboardEvent {
  document.body.innerHTML = `<main>${where}</main>`;
  const target = document.querySelector('main > *') ?? document.body;
  const event = new KeyboardEvent('keydown', { bubbles: true, ...init });
  target.dispatchEvent(event);
  return event;
}

describe('a key', () => {
  it('is for the page, unless a field or a dialog has the focus', () => {
    expect(plainKey(pressed('<p></p>', { key: 'j' }))).toBe('j');
    expect(plainKey(pressed('<input>', { key: 'j' }))).toBeNull();
    expect(plainKey(pressed('<div role="dialog"></div>', { key: 'j' }))).toBeNull();
    expect(plainKey(pressed('<p></p>', { key: 'j', ctrlKey: true }))).toBeNull();
  });

  it('asks for the palette: a slash outside of fields, Ctrl+K or ⌘K everywhere', () => {
    expect(asksForPalette(pressed('<p></p>', { key: '/' }))).toBe(true);
    expect(asksForPalette(pressed('<input>', { key: '/' }))).toBe(false);
    expect(asksForPalette(pressed('<input>', { key: 'k', ctrlKey: true }))).toBe(true);
    expect(asksForPalette(pressed('<input>', { key: 'K', metaKey: true }))).toBe(true);
    expect(asksForPalette(pressed('<p></p>', { key: 'k' }))).toBe(false);
  });
});
