// What happy-dom has not and components ask for, and how long tests wait.

import { configure } from '@testing-library/react';

configure({ asyncUtilTimeout: 10_000 }); // a second is too short where other work takes the processor

if (!window.matchMedia) {
  window.matchMedia = (media: string) =>
    ({ media, matches: false, addEventListener: () => {}, removeEventListener: () => {} }) as unknown as MediaQueryList;
}
