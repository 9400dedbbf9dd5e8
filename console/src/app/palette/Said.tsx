import { match } from '@/app/palette/fuzzy';

/** A text with the letters that were looked for marked in it. */
export function Said({ text, query }: { text: string; query: string }) {
  const places = new Set(query.trim() ? match(query, text)?.places : []);
  if (places.size === 0) return text;
  return [...text].map((letter, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: letters have no other key, and the text does not change in place
    places.has(index) ? <mark key={index}>{letter}</mark> : letter,
  );
}
