import { expect, it } from 'vitest';
import { interpreterOf } from '@/pages/scripts/interpreters';

it('is the shell that the first line asks for', () => {
  expect(interpreterOf('GLUE_SHELL', 'echo hello')).toBe('bash');
  expect(interpreterOf('GLUE_SHELL', '#!/bin/bash\n')).toBe('bash');
  expect(interpreterOf('GLUE_SHELL', '#!/bin/sh\necho hello')).toBe('sh');
  expect(interpreterOf('GLUE_SHELL', '#! /usr/bin/env sh')).toBe('sh');
  expect(interpreterOf('GLUE_PYTHON', '#!/bin/sh')).toBe('python3');
});

it('is the executor itself, or nobody knows', () => {
  expect(interpreterOf('GLUE', '')).toBeNull();
  expect(interpreterOf('GLUE_GROOVY', '')).toBeUndefined();
});
