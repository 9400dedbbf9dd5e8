import { defineConfig } from '@playwright/test';
import { browserOptions } from './stories/stage';

export default defineConfig({
  testDir: 'stories',
  testMatch: 'shots.ts',
  workers: 1,
  reporter: 'line',
  timeout: 600_000, // nothing here is about speed, and a machine may have much else to do
  expect: { timeout: 30_000 },
  outputDir: 'build/shots',
  use: browserOptions,
});
