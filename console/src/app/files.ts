// Pages, texts and styles are fetched when they are needed. They cannot be had while the server is away, nor from one
// with a newer version, whose files have other names.

const lost = new WeakSet<object>();
const lostStyles = new Set<HTMLLinkElement>();

/** Take note, from now on, of what cannot be fetched. */
export function watchFiles(): void {
  window.addEventListener('vite:preloadError', ({ payload }) => lost.add(payload));
  document.addEventListener('error', ({ target }) => noteStyle(target), true); // it does not bubble
}

function noteStyle(target: EventTarget | null): void {
  if (!(target instanceof HTMLLinkElement) || target.rel !== 'stylesheet') return;
  target.remove();
  lostStyles.add(target);
}

/** Ask again for styles that could not be fetched: what loads pages asks for each style only once. */
export async function fetchLostStyles(): Promise<void> {
  await Promise.all([...lostStyles].map(fetchStyle));
}

function fetchStyle(before: HTMLLinkElement): Promise<void> {
  lostStyles.delete(before);
  const link = before.cloneNode() as HTMLLinkElement;
  return new Promise((done, fail) => {
    link.addEventListener('load', () => done());
    link.addEventListener('error', () => {
      const error = new Error(`${link.href} could not be fetched.`);
      lost.add(error);
      fail(error);
    });
    document.head.append(link);
  });
}

/** Whether an error says that a file could not be fetched. */
export function isLostFile(error: unknown): boolean {
  return typeof error === 'object' && error !== null && lost.has(error);
}

/** Does it once, and again only if it did not work. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let had: Promise<T> | undefined;
  return () => {
    had ??= load().catch((error: unknown) => {
      had = undefined;
      throw error;
    });
    return had;
  };
}
