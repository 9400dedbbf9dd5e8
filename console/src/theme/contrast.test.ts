import { describe, expect, it } from 'vitest';
import { antdTheme } from '@/theme/antd';
import { contrast, mixed } from '@/theme/contrast';
import { type ThemeName, TINT, tokens } from '@/theme/tokens';

const READABLE = 4.5;

describe('contrast', () => {
  it('is known for black on white', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
    expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
  });

  for (const theme of ['light', 'dark'] as ThemeName[]) {
    const { surfaces, status } = tokens[theme];
    const grounds = [surfaces.page, surfaces.surface, surfaces.raised, surfaces.hover];

    for (const [name, colour] of Object.entries(status)) {
      it(`of ${name} in ${theme} is enough on every ground, plain and as a tag`, () => {
        for (const ground of grounds) {
          expect(contrast(colour, ground)).toBeGreaterThanOrEqual(READABLE);
          expect(contrast(colour, mixed(colour, ground, TINT))).toBeGreaterThanOrEqual(READABLE);
        }
      });
    }

    it(`of text in ${theme} is enough on every ground`, () => {
      for (const ground of grounds) {
        expect(contrast(surfaces.text, ground)).toBeGreaterThanOrEqual(7);
        expect(contrast(surfaces.muted, ground)).toBeGreaterThanOrEqual(READABLE);
        expect(contrast(surfaces.primary, ground)).toBeGreaterThanOrEqual(READABLE);
      }
      expect(contrast(surfaces.onPrimary, surfaces.primary)).toBeGreaterThanOrEqual(READABLE);
      expect(contrast(surfaces.onTooltip, surfaces.tooltip)).toBeGreaterThanOrEqual(READABLE);
    });

    it(`of what is chosen in a menu in ${theme} is enough`, () => {
      const { colorPrimary, controlItemBgActive, controlItemBgActiveHover } =
        antdTheme(theme, true).components?.Dropdown ?? {};
      for (const ground of [controlItemBgActive, controlItemBgActiveHover]) {
        expect(contrast(colorPrimary ?? '', ground ?? '')).toBeGreaterThanOrEqual(READABLE);
      }
    });
  }
});
