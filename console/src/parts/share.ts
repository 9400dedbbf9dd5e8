/** Whole percents of what is done; null when nobody knows how much there is. */
export function shareOf(done: number, total: number | null): number | null {
  return total ? Math.min(100, Math.max(0, Math.floor((done / total) * 100))) : null;
}
