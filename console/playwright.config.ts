import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

export default defineConfig({
  testDir: 'stories',
  testMatch: '*.spec.ts',
  workers: 1,
  forbidOnly: true,
  reporter: 'line',
  // Bounds of how long a story may hang; what has to be quick says so itself.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  outputDir: 'build/stories',
  use: browserOptions,
});
