// The words that people use for the things of Orth are the same everywhere: one for each thing in each language.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const LOCALES = join(import.meta.dirname, '../src/i18n/locales');

/** Words that mean a thing of the glossary and are not its word. */
const STRANGE: Record<string, RegExp[]> = {
  'zh-CN': [
    /孤儿(?!任务)/, // orphan
    /阻塞策略/, // block strategy
    /错过的?(触发|调度)|(触发|调度)[^，。]*错过/, // misfire
    /\b(Failed|Success|Timeout|Pending|Init|Running|Idle|Busy)\b/, // statuses
    /触发失败/, // trigger failed
    /从属|备节点/, // follower
  ],
  fr: [
    /\bratée?s?\b/, // misfire
    /\b(Failed|Success|Timeout|Pending)\b/, // statuses
  ],
};

/** The words as the glossary has them, where a thing is named for the first time. */
const NAMED: Record<string, [string, string, string]> = {
  'status:name.init': ['Init', '初始', 'Initialisée'],
  'status:name.pending': ['Pending', '等待结果', 'En attente'],
  'status:name.success': ['Success', '成功', 'Succès'],
  'status:name.failed': ['Failed', '执行失败', 'Échec'],
  'status:name.timeout': ['Timeout', '超时', 'Délai dépassé'],
  'status:name.trigger_failed': ['Trigger Failed', '调度失败', 'Échec du déclenchement'],
  'jobs:columns.next': ['Next fire', '下次触发时间', 'Prochain déclenchement'],
  'jobEditor:fields.executor_block_strategy': ['Block strategy', '阻塞处理策略', 'Stratégie de blocage'],
  'jobEditor:fields.misfire_strategy': ['Misfire', '调度过期', 'Déclenchement manqué'],
};

type Tree = { [key: string]: string | Tree };

function texts(language: string): [string, string][] {
  const walk = (tree: Tree, before: string): [string, string][] =>
    Object.entries(tree).flatMap(([key, value]): [string, string][] =>
      typeof value === 'string' ? [[`${before}${key}`, value]] : walk(value, `${before}${key}.`),
    );
  return globSync('*.json', { cwd: join(LOCALES, language) }).flatMap((file) =>
    walk(JSON.parse(readFileSync(join(LOCALES, language, file), 'utf8')) as Tree, `${file.replace('.json', '')}:`),
  );
}

describe('the words of the glossary', () => {
  for (const [language, words] of Object.entries(STRANGE)) {
    it(`have no rivals in ${language}`, () => {
      const found = texts(language).filter(([, text]) => words.some((word) => word.test(text)));
      expect(found).toEqual([]);
    });
  }

  for (const [number, language] of ['en', 'zh-CN', 'fr'].entries()) {
    it(`name what people see, in ${language}`, () => {
      const own = new Map(texts(language));
      for (const [key, words] of Object.entries(NAMED)) expect([key, own.get(key)]).toEqual([key, words[number]]);
    });
  }
});
