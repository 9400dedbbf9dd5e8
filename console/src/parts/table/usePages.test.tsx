import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanup, render, screen } from '@testing-library/react';
import { Table } from 'antd';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import en from '@/i18n/locales/en/common.json';
import fr from '@/i18n/locales/fr/common.json';
import zh from '@/i18n/locales/zh-CN/common.json';
import { usePages } from '@/parts/table/usePages';

const SOURCE = join(import.meta.dirname, '../..');

afterEach(cleanup);

function Long({ rows }: { rows: number }) {
  const dataSource = Array.from({ length: rows }, (_, key) => ({ key }));
  return <Table columns={[{ title: 'Row', dataIndex: 'key' }]} dataSource={dataSource} pagination={usePages()} />;
}

async function shown(language: string, common: typeof en | typeof fr | typeof zh, rows: number): Promise<void> {
  const i18n = createInstance();
  await i18n.init({ lng: language, resources: { [language]: { common } }, defaultNS: 'common' });
  render(
    <I18nextProvider i18n={i18n}>
      <Long rows={rows} />
    </I18nextProvider>,
  );
}

it('names every button, in each language', async () => {
  for (const [language, texts] of Object.entries({ en, fr, 'zh-CN': zh })) {
    await shown(language, texts, 51);
    const names = screen.getAllByRole('button').map((one) => one.getAttribute('aria-label'));
    expect(names).toEqual([texts.table.previousPage, texts.table.nextPage]);
    cleanup();
  }
});

it('has none where there is one page only', async () => {
  await shown('en', en, 50);
  expect(screen.queryAllByRole('button')).toEqual([]);
});

it('is what every table with pages takes', () => {
  const files = globSync('**/*.tsx', { cwd: SOURCE }).filter((file) => !file.includes('.test.'));
  const own = files.filter((file) => {
    const code = readFileSync(join(SOURCE, file), 'utf8');
    const tables = code.match(/<Table\b/g)?.length ?? 0;
    const said = code.match(/\bpagination=\{(false|pages|usePages\(\))\}/g)?.length ?? 0;
    return tables !== said || /\bPagination\b[^;]*from 'antd'/.test(code);
  });
  expect(own).toEqual([]);
});
