// A group as its form has it, and as the API takes it.

import type { Admission, Group, GroupDialect } from '@/api/types';

export interface GroupForm {
  app_name: string;
  title: string;
  manual: boolean;
  addresses: string[];
  dialect: GroupDialect;
  /** Whom the group lets in as an executor. */
  admission: Admission;
}

/** A dialect that is added to the API and not here does not compile. */
const SPOKEN: Record<GroupDialect, true> = { auto: true, orth: true, xxl: true, xxl35: true };
export const DIALECTS = Object.keys(SPOKEN) as GroupDialect[];

export const ADMISSIONS: Admission[] = ['open', 'known'];

export const NEW_GROUP: GroupForm = {
  app_name: '',
  title: '',
  manual: false,
  addresses: [],
  dialect: 'auto',
  admission: 'open',
};

export function formOf(group: Group): GroupForm {
  const manual = group.address_type === 1;
  const dialect = DIALECTS.find((one) => one === group.dialect) ?? 'auto';
  const { app_name, title, admission } = group;
  return { app_name, title, manual, addresses: manual ? group.address_list : [], dialect, admission };
}

/** Addresses count only where they are written by hand; the registry fills the others. */
export function bodyOf({ app_name, title, manual, addresses, dialect, admission }: GroupForm) {
  return {
    app_name: app_name.trim(),
    title: (title ?? '').trim(),
    address_type: manual ? (1 as const) : (0 as const),
    address_list: manual ? addresses : [],
    dialect,
    admission,
  };
}
