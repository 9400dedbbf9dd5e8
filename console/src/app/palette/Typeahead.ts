// Keeps the letters that are typed between the key that opens the palette and the moment its field has the focus: the
// palette is loaded when it is first opened, and until then the keys would go to the page.

const NO_TEXT = new Set(['Enter', 'Backspace', 'Escape']);

export class Typeahead {
  private text = '';
  private end: (() => void) | null = null;

  /** `cancel` is called for Escape. */
  begin(cancel: () => void): void {
    this.end?.();
    this.text = '';
    const onKey = (event: KeyboardEvent) => {
      const isLetter = [...event.key].length === 1;
      if (event.ctrlKey || event.metaKey || event.altKey || !(isLetter || NO_TEXT.has(event.key))) return;
      event.preventDefault();
      event.stopPropagation();
      if (isLetter) this.text += event.key;
      else if (event.key === 'Backspace') this.text = [...this.text].slice(0, -1).join('');
      else if (event.key === 'Escape') {
        this.take();
        cancel();
      }
    };
    document.addEventListener('keydown', onKey, true);
    this.end = () => document.removeEventListener('keydown', onKey, true);
  }

  /** What was typed; from now on keys go where the focus is. */
  take(): string {
    this.end?.();
    this.end = null;
    const { text } = this;
    this.text = '';
    return text;
  }
}
