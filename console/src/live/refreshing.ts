// Asks again for what has changed, no faster than it can be answered. A subject that changes all the time must neither
// cut off its own answers, so that none ever arrives, nor keep the page from doing anything else.

/** The shortest pause between two looks at a subject, in ms. */
const PAUSE = 250;
/** A look that took long is followed by a pause as long: half of the time is left for others, and what ended meanwhile
 * is to be seen soon all the same. */
const LONGEST_PAUSE = 2_000;

export interface Looking {
  /** Asks again for what is shown of a subject; done when it is there. */
  look: (subject: string) => Promise<unknown>;
  now: () => number;
  /** The shortest pause between two looks, in ms, where it is not the usual one. */
  pause?: number;
}

export class Refreshing {
  /** Subjects that are being looked at or rest; true: they have changed again meanwhile. */
  private readonly busy = new Map<string, boolean>();

  constructor(private readonly around: Looking) {}

  /** Looks at once, or, if it was looked at just now, as soon as the pause is over. */
  changed(subject: string): void {
    if (this.busy.has(subject)) this.busy.set(subject, true);
    else void this.refresh(subject);
  }

  private async refresh(subject: string): Promise<void> {
    this.busy.set(subject, false);
    const began = this.around.now();
    await this.around.look(subject).catch(() => undefined); // who shows it says what went wrong
    const took = this.around.now() - began;
    await new Promise((over) => setTimeout(over, Math.max(this.around.pause ?? PAUSE, Math.min(took, LONGEST_PAUSE))));
    const again = this.busy.get(subject);
    this.busy.delete(subject);
    if (again) this.changed(subject);
  }
}
