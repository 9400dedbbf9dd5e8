import type { components } from '@/api/schema';

export type Setting = components['schemas']['SettingShown'];

type Named = Pick<Setting, 'key' | 'value' | 'explanation' | 'origin'>;

/** Settings that have a text in their key, value or explanation; perhaps only those that somebody set. */
export function chosen<S extends Named>(settings: S[], text: string, changedOnly: boolean): S[] {
  const wanted = text.trim().toLowerCase();
  return settings.filter(
    ({ key, value, explanation, origin }) =>
      (!changedOnly || origin !== 'default') &&
      [key, value, explanation].some((part) => part.toLowerCase().includes(wanted)),
  );
}

/** Whether a setting says how long something is kept. */
export function isKept({ key }: Pick<Setting, 'key'>): boolean {
  return key.startsWith('retention.') || key.endsWith('retention');
}
