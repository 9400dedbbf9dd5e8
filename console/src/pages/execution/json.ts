/** A text as it is, unless it is JSON: then it is laid out, so that it can be read. */
export function shownJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
