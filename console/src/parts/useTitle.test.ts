import { renderHook } from '@testing-library/react';
import { expect, it } from 'vitest';
import { useTitle } from '@/parts/useTitle';

it('spells out in the tab what would turn the name of a page', () => {
  renderHook(() => useTitle('a\u202eb'));
  expect(document.title).toBe('a\\u202eb · Orth');
});
