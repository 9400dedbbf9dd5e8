import { expect, test } from 'vitest';
import type { Group } from '@/api/types';
import { bodyOf, formOf, NEW_GROUP } from '@/pages/executors/groupForm';

const stored: Group = {
  id: 3,
  app_name: 'reports',
  title: 'Reports',
  address_type: 0,
  address_list: ['http://10.0.0.1:9999'],
  dialect: 'xxl',
  scripts_allowed: true,
  admission: 'known',
  unreadable: null,
};

test('addresses of the registry are not written back', () => {
  expect(bodyOf(formOf(stored))).toEqual({
    app_name: 'reports',
    title: 'Reports',
    address_type: 0,
    address_list: [],
    dialect: 'xxl',
    admission: 'known',
  });
});

test('addresses written by hand stay, and are forgotten when the registry takes over', () => {
  const form = formOf({ ...stored, address_type: 1 });
  expect(bodyOf(form)).toMatchObject({ address_type: 1, address_list: ['http://10.0.0.1:9999'] });
  expect(bodyOf({ ...form, manual: false })).toMatchObject({ address_type: 0, address_list: [] });
});

test('a dialect of a newer version becomes the automatic one', () => {
  expect(formOf({ ...stored, dialect: 'telepathy' }).dialect).toBe('auto');
  expect(bodyOf({ ...NEW_GROUP, app_name: ' new ' }).app_name).toBe('new');
});
