// Where the console lives. The server wrote a <base> into the page that leads to its root, whatever prefix a proxy put
// in front; it is read once, before anything navigates.

const root = new URL('.', document.baseURI);

/** The path of the root, with a slash at both ends: "/" or "/orth/". */
export const prefix: string = root.pathname;

/** The address of an API path such as "/api/v1/jobs". */
export function address(path: string): string {
  return new URL(path.replace(/^\//, ''), root).href;
}

/** The same for a WebSocket. */
export function socketAddress(path: string): string {
  return address(path).replace(/^http/, 'ws');
}
