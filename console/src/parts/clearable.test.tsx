import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { ClearableSelect } from '@/parts/clearable';

afterEach(cleanup);

const SOURCES = import.meta.glob<string>('../**/*.tsx', { query: '?raw', import: 'default', eager: true });

it('names the button that takes a choice back in the language of the page', () => {
  render(<ClearableSelect value="a" options={[{ value: 'a' }]} />);
  expect(screen.getByRole('button', { name: 'clear' })).toBeDefined();
});

it('is what every choice is that can be taken back', () => {
  const bare = Object.entries(SOURCES).filter(([, source]) => /\sallowClear(=\{true\})?[\s/>]/.test(source));
  expect(Object.keys(SOURCES).length).toBeGreaterThan(100);
  expect(bare.map(([path]) => path)).toEqual([]);
});
