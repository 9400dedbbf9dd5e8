import type { Breakpoint } from 'antd';

/** Of a table that fits its place as long as it can: words go on in the next line, or are cut (table.css). */
export const FLEXING = { scroll: { x: '100%' }, tableLayout: 'auto' } as const;

/** Columns that one can do without, for what they say is on another page too, are shown from this width on. */
export const YIELDING: Breakpoint[] = ['xl'];
