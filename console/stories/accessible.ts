// What axe finds on a page, in one theme and the other.

import type { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import type { Language } from '../src/i18n/languages';
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

/** As when another tab of the same browser chose it: the page is not loaded again. */
export async function showsLanguage(page: Page, language: Language): Promise<void> {
  await page.evaluate((chosen) => {
    const key = 'orth.preferences';
    const kept = JSON.parse(localStorage.getItem(key) ?? '{}');
    localStorage.setItem(key, JSON.stringify({ ...kept, language: chosen }));
    window.dispatchEvent(new StorageEvent('storage', { key }));
  }, language);
  await expect(page.locator('html')).toHaveAttribute('lang', language);
}

/**
 * Links among words that only their colour tells from them. Axe looks at those only whose words are fewer than the
 * others, which differs from language to language; cells of tables and navigation are lists of links.
 */
export async function linksToldByColour(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const flows = (one: Element) => getComputedStyle(one).display === 'inline';
    /** What is said in the same lines, without what is a link or a button itself. */
    const saidIn = (place: Node): string =>
      [...place.childNodes]
        .map((one) => {
          if (one instanceof Text) return one.data;
          return one instanceof Element && flows(one) && !one.matches('a, button') ? saidIn(one) : '';
        })
        .join(' ');
    const alone = (link: Element) => {
      let place = link.parentElement;
      while (place && flows(place)) place = place.parentElement;
      return !place || !/[\p{L}\p{N}]/u.test(saidIn(place));
    };
    return [...document.querySelectorAll('a[href]')]
      .filter((one) => one.checkVisibility() && flows(one) && !one.closest('td, th, nav'))
      .filter((one) => !getComputedStyle(one).textDecorationLine.includes('underline') && !alone(one))
      .map((one) => one.outerHTML);
  });
}
