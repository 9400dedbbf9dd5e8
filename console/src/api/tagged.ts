// What is read with the tag of its version, so that a write can say what it was made from (If-Match).

import { type Answered, got } from '@/api/client';
import { Problem } from '@/api/problem';

export interface Tagged<T> {
  value: T;
  etag: string;
}

export async function gotTagged<T>(asking: Promise<Answered<T>>): Promise<Tagged<T>> {
  const answered = await asking;
  return { value: await got(Promise.resolve(answered)), etag: answered.response.headers.get('ETag') ?? '' };
}

/** Whether somebody else has written what one wanted to write over. */
export function isOutdated(error: unknown): boolean {
  return error instanceof Problem && error.status === 412;
}
