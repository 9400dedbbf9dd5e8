import { afterEach, describe, expect, it, vi } from 'vitest';
import { Typeahead } from '@/app/palette/Typeahead';

const typeahead = new Typeahead();

function press(key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
  document.body.dispatchEvent(event);
  return event;
}

describe('keys before the palette is there', () => {
  afterEach(() => {
    typeahead.take();
  });

  it('keeps letters, whatever the page would do with them', () => {
    const page = vi.fn();
    document.addEventListener('keydown', page);
    typeahead.begin(() => undefined);
    for (const key of ['j', 'k', 'é', '😀', 'Backspace', ' ', 'Shift', 'Q']) press(key);
    expect(typeahead.take()).toBe('jké Q');
    expect(page.mock.calls.map(([event]) => event.key)).toEqual(['Shift']);
    document.removeEventListener('keydown', page);
  });

  it('leaves shortcuts to the browser, and everything once it was taken', () => {
    typeahead.begin(() => undefined);
    expect(press('r', { ctrlKey: true }).defaultPrevented).toBe(false);
    expect(press('Enter').defaultPrevented).toBe(true);
    typeahead.take();
    expect(press('a').defaultPrevented).toBe(false);
    expect(typeahead.take()).toBe('');
  });

  it('begins anew each time, and Escape gives up', () => {
    const cancel = vi.fn();
    typeahead.begin(cancel);
    press('a');
    typeahead.begin(cancel);
    press('b');
    press('Escape');
    expect(cancel).toHaveBeenCalledOnce();
    expect(press('c').defaultPrevented).toBe(false);
    expect(typeahead.take()).toBe('');
  });
});
