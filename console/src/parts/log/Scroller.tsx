import type { ScrollerProps } from 'react-virtuoso';

/** What scrolls a log: a region by name, that says nothing by itself while lines come. */
export function Scroller({ context, children, ref, ...rest }: ScrollerProps & { context: { label: string } }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
    <div {...rest} ref={ref} role="log" aria-live="off" aria-label={context.label} tabIndex={0}>
      {children}
    </div>
  );
}
