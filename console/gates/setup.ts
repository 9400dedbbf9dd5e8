// What happy-dom has not and components ask for.

if (!window.matchMedia) {
  window.matchMedia = (media: string) =>
    ({ media, matches: false, addEventListener: () => {}, removeEventListener: () => {} }) as unknown as MediaQueryList;
}
