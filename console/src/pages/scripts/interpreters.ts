// Which program reads a script on an executor of Orth, by its kind and what its first line asks for.

import type { CodeKind } from '@/parts/code/languages';

/** Null: the executor itself. Undefined: nobody knows, for only executors of another make run such code. */
const INTERPRETERS: Record<CodeKind, string | null | undefined> = {
  GLUE: null,
  GLUE_GROOVY: undefined,
  GLUE_SHELL: 'bash',
  GLUE_PYTHON: 'python3',
  GLUE_PYTHON2: undefined,
  GLUE_NODEJS: 'node',
  GLUE_POWERSHELL: 'pwsh',
  GLUE_PHP: 'php',
};

/** The same rule as the executor has: what begins so asks for the plain shell. */
const PLAIN_SHELL = /^#! *(\/[\w/.-]*\/)?(env +)?sh\b/;

export function interpreterOf(kind: CodeKind, source: string): string | null | undefined {
  return kind === 'GLUE_SHELL' && PLAIN_SHELL.test(source) ? 'sh' : INTERPRETERS[kind];
}
