import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

export default defineConfig({
  testDir: 'stories',
  testMatch: 'shots.ts',
  workers: 1,
  reporter: 'line',
  timeout: 120_000,
  outputDir: 'build/shots',
  use: browserOptions,
});
