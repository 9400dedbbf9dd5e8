// Whether a page keeps within its window.

import type { Page } from '@playwright/test';

/** How much wider than the window the page is, or what is on it than its place; what sticks out, and what was left so
 * little room that its words fall to pieces. */
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
    for (const one of document.querySelectorAll<HTMLElement>('main dd, main dt, main p, main h1, main h2, main h3')) {
      const { width, height } = one.getBoundingClientRect();
      const line = Number.parseFloat(getComputedStyle(one).lineHeight) || 22;
      const letters = one.textContent?.trim().length ?? 0;
      if (width > 0 && letters > 6 && height > (letters / 3) * line)
        found.push(`"${one.textContent}" stands in ${width} px, on ${Math.round(height / line)} lines`);
    }
    return found;
  });
}
