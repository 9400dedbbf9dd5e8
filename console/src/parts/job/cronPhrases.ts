// Phrases of the library that reads cron expressions, in the words people use. It says "15 seconds after the minute" in
// languages that say "at second 15 of each minute".

import type { Language } from '@/i18n/languages';

type Rule = readonly [RegExp, string];

/** In order. "Of each minute" is left out where the minutes follow. */
const RULES: Record<Language, readonly Rule[]> = {
  en: [],
  'zh-CN': [
    [/^在一分钟后的第 ([^秒]+) 秒, 在整点后的第 ([^分]+) 分钟(?!开始)/, '每小时第 $2 分钟的第 $1 秒'],
    [/^在一分钟后的第 ([^秒]+) 秒(?=, (每隔 \d+ 分钟|整点|在整点后))/, '第 $1 秒'],
    [/在一分钟后的第 ([^秒]+) 秒开始/, '从每分钟第 $1 秒开始'],
    [/在一分钟后的第 ([^秒]+) 秒/, '每分钟第 $1 秒'],
    [/在整点后的第 ([^分]+) 分钟开始/, '从每小时第 $1 分钟开始'],
    [/在整点后的第 ([^分]+) 分钟/, '每小时第 $1 分钟'],
  ],
  fr: [
    [/^(\d+) secondes après la minute/, 'À la seconde $1 de chaque minute'],
    [/^(\d.*?) secondes après la minute/, 'Aux secondes $1 de chaque minute'],
    [/^Les secondes entre (\d+) et (\d+) après la minute/, 'Aux secondes $1 à $2 de chaque minute'],
    [/à partir de (\d+) secondes après la minute/, 'à partir de la seconde $1 de chaque minute'],
    [/^(\d+) minutes après l'heure/, 'À la minute $1 de chaque heure'],
    [/, (\d+) minutes après l'heure/, ', à la minute $1 de chaque heure'],
    [/^(\d[^:]*?) minutes après l'heure/, 'Aux minutes $1 de chaque heure'],
    [/, (\d[^:]*?) minutes après l'heure/, ', aux minutes $1 de chaque heure'],
    [/^Les minutes entre (\d+) et (\d+) après l'heure/, 'Aux minutes $1 à $2 de chaque heure'],
    [/, les minutes entre (\d+) et (\d+) après l'heure/, ', aux minutes $1 à $2 de chaque heure'],
    [/à partir de (\d+) minutes après l'heure/, 'à partir de la minute $1 de chaque heure'],
    [/ de chaque minute(?=, (à la minute|aux minutes|toutes les \d+ minutes|à l'heure pile))/, ''],
  ],
};

export function inUsualWords(words: string, language: Language): string {
  return RULES[language].reduce((told, [phrase, usual]) => told.replace(phrase, usual), words);
}
