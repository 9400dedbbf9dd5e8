// What axe finds on a page, in one theme and the other.

import type { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect } from './stage';

/** Every level A and AA up to WCAG 2.2; 2.2 has no tag of its own for A. */
export const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** What another theme can change: it exchanges colours, and the elements stay the same. */
export const RULES_OF_COLOUR = ['color-contrast', 'link-in-text-block'];

/** What is still wrong once the page has come to rest: after a change of width it takes a moment to follow. */
export async function seriousFaults(axe: AxeBuilder): Promise<string[]> {
  const until = Date.now() + 5_000;
  while (true) {
    const { violations } = await axe.analyze();
    const serious = violations.filter((one) => one.impact === 'serious' || one.impact === 'critical');
    if (serious.length === 0 || Date.now() > until)
      return serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`);
  }
}

/** Colours of a new theme fade in; what is measured on the way is neither the one nor the other. */
export async function showsTheme(page: Page, theme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
  await page.evaluate(async () => {
    const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(fading.map((one) => one.finished));
  });
}
