import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

// Stories that end coordinators: told on a stage of their own, with three of them.
export default defineConfig({
  testDir: 'stories',
  testMatch: '*.cluster.ts',
  workers: 1,
  forbidOnly: true,
  reporter: 'line',
  timeout: 90_000,
  expect: { timeout: 20_000 },
  outputDir: 'build/cluster_stories',
  use: browserOptions,
});
