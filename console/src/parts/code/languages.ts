// Which language a kind of code is written in, each loaded when it is needed.

import type { Extension } from '@codemirror/state';
import type { components } from '@/api/schema';

export type CodeKind = Exclude<components['schemas']['GlueType'], 'BEAN'>;

const python = async () => (await import('@codemirror/lang-python')).python();
const plain = async () => [];

async function legacy(mode: Promise<object>, name: string): Promise<Extension> {
  const [{ StreamLanguage }, found] = await Promise.all([import('@codemirror/language'), mode]);
  return StreamLanguage.define((found as Record<string, Parameters<typeof StreamLanguage.define>[0]>)[name] as never);
}

export const LANGUAGES_OF_CODE: Record<CodeKind, () => Promise<Extension>> = {
  GLUE: python,
  GLUE_PYTHON: python,
  GLUE_PYTHON2: python,
  GLUE_NODEJS: async () => (await import('@codemirror/lang-javascript')).javascript(),
  GLUE_SHELL: () => legacy(import('@codemirror/legacy-modes/mode/shell'), 'shell'),
  GLUE_POWERSHELL: () => legacy(import('@codemirror/legacy-modes/mode/powershell'), 'powerShell'),
  GLUE_GROOVY: () => legacy(import('@codemirror/legacy-modes/mode/groovy'), 'groovy'),
  GLUE_PHP: plain,
};
