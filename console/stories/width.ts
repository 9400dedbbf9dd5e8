// Whether a page keeps within its window.

import type { Page } from '@playwright/test';

/** How much wider than the window the page is, or what is on it than its place; and what sticks out. */
export function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const places = document.querySelectorAll<HTMLElement>(
      'html, main, main .panel, .why-box, .status-details, .ant-modal-body',
    );
    for (const one of places) {
      if (one.scrollWidth <= one.clientWidth) continue;
      found.push(`${one.tagName} ${one.className} is ${one.scrollWidth} px wide in ${one.clientWidth}`);
    }
    for (const one of document.querySelectorAll<HTMLElement>('header.top-bar button, header.top-bar .live-dot')) {
      const { left, right, width } = one.getBoundingClientRect();
      if (width > 0 && (left < 0 || right > innerWidth)) found.push(`${one.outerHTML.slice(0, 80)} lies outside`);
    }
    return found;
  });
}
