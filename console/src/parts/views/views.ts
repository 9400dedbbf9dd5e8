// Views: the filters of a page under a name of one's own.

export interface SavedView {
  /** The path of the page. */
  page: string;
  name: string;
  /** What stands in the address after the question mark. */
  search: string;
}

export const NAME_LIMIT = 60;

/** Bytes that all views of one person may have together; the server keeps a little more of what they choose. */
const ROOM = 24_000;

export function haveRoom(views: readonly SavedView[]): boolean {
  return new TextEncoder().encode(JSON.stringify(views)).length <= ROOM;
}

export function viewsOf(views: readonly SavedView[], page: string): SavedView[] {
  return views.filter((one) => one.page === page);
}

/** With a view added; one of the same name is replaced. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  const name = view.name.trim().slice(0, NAME_LIMIT);
  if (!name) return [...views];
  return [...without(views, view.page, name), { ...view, name }];
}

export function without(views: readonly SavedView[], page: string, name: string): SavedView[] {
  return views.filter((one) => one.page !== page || one.name !== name);
}

export function addressOf(view: SavedView): string {
  return view.search ? `${view.page}?${view.search}` : view.page;
}
