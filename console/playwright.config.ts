import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

export default defineConfig({
  testDir: 'stories',
  testMatch: '*.spec.ts',
  workers: 1,
  forbidOnly: true,
  reporter: 'line',
  timeout: 30_000,
  expect: { timeout: 10_000 },
  outputDir: 'build/stories',
  use: browserOptions,
});
