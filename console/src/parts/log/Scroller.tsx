import type { ScrollerProps } from 'react-virtuoso';

/** What scrolls a log: a region by name, that says nothing by itself while lines come. */
export function Scroller({ context, children, ref, style, ...rest }: ScrollerProps & { context: { label: string } }) {
  const { outline: _none, ...own } = style ?? {}; // by which nobody would see that it has the focus
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
    <div {...rest} style={own} ref={ref} role="log" aria-live="off" aria-label={context.label} tabIndex={0}>
      {children}
    </div>
  );
}
