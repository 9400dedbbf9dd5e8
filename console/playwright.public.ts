import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

// Stories of a coordinator that knows where people find its console: told on a stage of their own, as its cookies are
// for that address alone.
export default defineConfig({
  testDir: 'stories',
  testMatch: '*.public.ts',
  workers: 1,
  forbidOnly: true,
  reporter: 'line',
  timeout: 90_000,
  expect: { timeout: 20_000 },
  outputDir: 'build/public_stories',
  use: browserOptions,
});
