import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

// How soon pages can be used with a long history behind them: told by bench/history.py.
export default defineConfig({
  testDir: 'stories',
  testMatch: '*.history.ts',
  workers: 1,
  forbidOnly: true,
  reporter: 'line',
  timeout: 900_000, // on a machine that has much else to do
  expect: { timeout: 30_000 },
  outputDir: 'build/history_stories',
  use: browserOptions,
});
