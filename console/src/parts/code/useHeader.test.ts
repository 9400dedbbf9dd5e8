import { expect, it } from 'vitest';
import { beforeCode } from '@/parts/code/useHeader';

const HEADER = '# /// script\r\n# dependencies = []\r\n# ///\r\n';

it('is asked about the comments before the code only', () => {
  expect(beforeCode(`#!/bin/sh\n\n${HEADER}\necho one\n# two`)).toBe(`#!/bin/sh\n\n${HEADER}\n`);
  expect(beforeCode('<?php // one\n// /// script\n// ///')).toBe('<?php // one\n// /// script\n// ///');
  expect(beforeCode(`cat <<end\n${HEADER}end\n`)).toBe('');
  expect(beforeCode('# nothing\necho')).toBe('');
  expect(beforeCode('')).toBe('');
});
