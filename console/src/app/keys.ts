// Keys that work everywhere, and what the sheet of keys tells about them.

/** Whether a key was meant for what has the focus: a field, or an open dialog. */
export function taken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing) return true;
  const target = event.target instanceof HTMLElement ? event.target : null;
  return !!target?.closest('input, textarea, select, [contenteditable], .cm-editor, [role="dialog"], [role="listbox"]');
}

/** A key pressed alone. */
export function plainKey(event: KeyboardEvent): string | null {
  return event.ctrlKey || event.metaKey || event.altKey || taken(event) ? null : event.key;
}

/** Ctrl+K or ⌘K: also inside fields, for no field uses it. */
export function asksForPalette(event: KeyboardEvent): boolean {
  const together = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  return (together && event.key.toLowerCase() === 'k') || plainKey(event) === '/';
}

export const MAC = /mac|iphone|ipad/i.test(navigator.platform);

/** The keys by what they are for; each has a text of its own. */
export const KEYS = {
  everywhere: { palette: [MAC ? '⌘ K' : 'Ctrl K', '/'], sheet: ['?'], close: ['Esc'] },
  lists: { down: ['j'], up: ['k'], select: ['x'], open: ['o', 'Enter'] },
  execution: { previous: ['['], next: [']'] },
} as const;
