// Finding what somebody means by a few letters: they must all be there, in order. Letters that begin words and letters
// that stand together count for more. Case and accents do not matter.

export interface Match {
  score: number;
  /** Which letters of the text were found. */
  places: number[];
}

const START_OF_TEXT = 8;
const START_OF_WORD = 6;
const NEXT_TO_LAST = 5;
const ANYWHERE = 1;
const LONGEST = 200;

/** The text without case and accents, as many letters as before. */
function plain(text: string): string[] {
  return [...text.slice(0, LONGEST)].map((letter) => letter.normalize('NFD').charAt(0).toLowerCase());
}

/** How well `query` is found in `text`; null if it is not. Spaces in the query stand for anything. */
export function match(query: string, text: string): Match | null {
  const wanted = plain(query.replace(/\s+/g, ''));
  const letters = plain(text);
  const whole = plain(query.trim()).join('');
  const at = whole ? letters.join('').indexOf(whole) : -1;
  if (at >= 0)
    return found(
      letters,
      [...whole].map((_, index) => at + index).filter((place) => letters[place] !== ' '),
    );
  const places: number[] = [];
  let from = 0;
  for (const letter of wanted) {
    const place = bestPlace(letters, letter, from, places.at(-1));
    if (place < 0) return null;
    places.push(place);
    from = place + 1;
  }
  return found(letters, places);
}

/** Where a letter is taken from: right after the one before, else where a word begins, else the first there is. */
function bestPlace(letters: string[], letter: string, from: number, last: number | undefined): number {
  if (last !== undefined && letters[last + 1] === letter) return last + 1;
  for (let place = from; place < letters.length; place += 1) {
    if (letters[place] === letter && beginsWord(letters, place)) return place;
  }
  return letters.indexOf(letter, from);
}

function beginsWord(letters: string[], place: number): boolean {
  return place === 0 || !/[\p{L}\p{N}]/u.test(letters[place - 1] ?? '');
}

function found(letters: string[], places: number[]): Match {
  let score = 0;
  places.forEach((place, index) => {
    if (place === 0) score += START_OF_TEXT;
    else if (place === (places[index - 1] ?? Number.NaN) + 1) score += NEXT_TO_LAST;
    else if (beginsWord(letters, place)) score += START_OF_WORD;
    else score += ANYWHERE;
  });
  return { score: score - letters.length / 100, places };
}

/** What matches, the best first; what is equally good stays in order. */
export function best<Item>(
  query: string,
  items: readonly Item[],
  textOf: (item: Item) => string,
  most: number,
): Item[] {
  if (!query.trim()) return items.slice(0, most);
  return items
    .map((item) => ({ item, match: match(query, textOf(item)) }))
    .filter((one): one is { item: Item; match: Match } => one.match !== null)
    .sort((one, other) => other.match.score - one.match.score)
    .slice(0, most)
    .map(({ item }) => item);
}
