// How a file is taken in: looked at, and applied as it was looked at. One that is too large for a request goes in parts,
// each looked at when those before it are done, for what becomes of it may depend on them.

import { useQueryClient } from '@tanstack/react-query';
import { App } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import type { Taken } from '@/api/types';
import { type Definition, partsOf, readFile, toldTwice } from '@/pages/jobs/definitions';
import { previewOf, takeIn } from '@/pages/jobs/queries';

interface Chosen {
  name: string;
  parts: Definition[][];
  /** Which part is looked at. */
  at: number;
  anyHandler: boolean;
  /** By the parts before it. */
  created: number;
  changed: number;
}

interface Looked extends Chosen {
  would: Taken;
}

export function useImport() {
  const { t } = useTranslation('jobs');
  const { message } = App.useApp();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [looked, setLooked] = useState<Looked | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  async function working(work: () => Promise<void>) {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  async function preview(chosen: Chosen) {
    setLooked({ ...chosen, would: await previewOf(chosen.parts[chosen.at] ?? [], chosen.anyHandler) });
  }

  /** What is wrong with a file, or its definitions. */
  function read(text: string): string | Definition[][] {
    const jobs = readFile(text);
    if (!Array.isArray(jobs)) return t(`import.trouble.${jobs}`);
    const parts = partsOf(jobs);
    const twice = parts.length > 1 ? toldTwice(jobs) : null;
    return twice ? t('import.trouble.twice', twice) : parts;
  }

  async function choose(file: File) {
    const parts = read(await file.text());
    setLooked(null);
    setError(null);
    setTrouble(typeof parts === 'string' ? parts : null);
    if (typeof parts === 'string') return;
    await working(() => preview({ name: file.name, parts, at: 0, anyHandler: false, created: 0, changed: 0 }));
  }

  /** Go on to the next part, or be done. */
  async function goOn(from: Chosen) {
    if (from.at < from.parts.length - 1) return preview({ ...from, at: from.at + 1 });
    message.success(t('import.done', { created: from.created, changed: from.changed }));
    setOpen(false);
  }

  async function take(from: Looked) {
    try {
      const { created, changed } = await takeIn(from.parts[from.at] ?? [], from.anyHandler, from.would.plan);
      await Promise.all(['executions', 'jobs'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
      await goOn({ ...from, created: from.created + created, changed: from.changed + changed });
    } catch (reason) {
      if (reason instanceof Problem && reason.status === 412) await preview(from);
      throw reason;
    }
  }

  return {
    open,
    looked,
    trouble,
    error,
    busy,
    begin: () => {
      setLooked(null);
      setTrouble(null);
      setError(null);
      setOpen(true);
    },
    close: () => setOpen(false),
    choose,
    look: (chosen: Chosen) => void working(() => preview(chosen)),
    apply: () => looked && void working(() => take(looked)),
  };
}
