// Ant Design in our colours.

import { theme as antd, type ThemeConfig } from 'antd';
import { type ThemeName, tokens } from '@/theme/tokens';

export const FONT =
  "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', sans-serif";
export const MONO = "ui-monospace, 'SF Mono', 'Cascadia Mono', 'Roboto Mono', Menlo, Consolas, monospace";

/** Ant Design in a theme; `still` for people whose system asks for less motion. */
export function antdTheme(name: ThemeName, still: boolean): ThemeConfig {
  const { surfaces, status } = tokens[name];
  return {
    algorithm: name === 'dark' ? antd.darkAlgorithm : antd.defaultAlgorithm,
    token: {
      colorPrimary: surfaces.primary,
      colorInfo: status.blue,
      colorSuccess: status.green,
      colorError: status.red,
      colorWarning: status.orange,
      colorLink: surfaces.primary,
      colorTextBase: surfaces.text,
      colorText: surfaces.text,
      colorTextSecondary: surfaces.muted,
      colorTextTertiary: surfaces.muted,
      colorTextDescription: surfaces.muted,
      colorTextPlaceholder: surfaces.muted,
      colorTextLightSolid: surfaces.onPrimary,
      colorBgBase: surfaces.surface,
      colorBgLayout: surfaces.page,
      colorBgContainer: surfaces.surface,
      colorBgElevated: surfaces.raised,
      colorBorder: surfaces.border,
      colorBorderSecondary: surfaces.border,
      borderRadius: 6,
      fontSize: 13,
      fontFamily: FONT,
      fontFamilyCode: MONO,
      controlHeight: 30,
      motion: !still,
      motionDurationMid: '0.12s',
      motionDurationSlow: '0.16s',
    },
    components: {
      Table: {
        cellPaddingBlockMD: 7,
        cellPaddingInlineMD: 12,
        cellPaddingBlockSM: 3,
        cellPaddingInlineSM: 12,
        headerBg: surfaces.surface,
        headerColor: surfaces.muted,
        rowHoverBg: surfaces.hover,
        rowSelectedBg: surfaces.hover,
        rowSelectedHoverBg: surfaces.hover,
      },
      // What is chosen in a menu: derived from ours the dark colours would be too close to each other.
      Dropdown: {
        colorPrimary: surfaces.primary,
        controlItemBgActive: surfaces.hover,
        controlItemBgActiveHover: surfaces.hover,
      },
      // The same of tooltips, which would be as dark as their words.
      Tooltip: { colorBgSpotlight: surfaces.tooltip, colorTextLightSolid: surfaces.onTooltip },
      Card: { bodyPadding: 16, headerPadding: 16 },
    },
  };
}
