// Roles, and where they hold: everywhere, or in single groups.

import { DeleteOutlined, PlusOutlined } from '@ant-design/icons';
import { Button, Form, Select, Tag } from 'antd';
import { useTranslation } from 'react-i18next';
import { useGroups } from '@/api/groups';
import type { Role } from '@/api/types';
import { ClearableSelect } from '@/parts/clearable';
import { Mark } from '@/parts/Mark';

export const ROLES: readonly Role[] = ['viewer', 'operator', 'editor', 'admin'];

export interface GroupRole {
  group_id: number;
  role: Role;
}

/** What somebody may, in one cell: the role everywhere first, then those of groups. */
export function RoleTags({ everywhere, inGroups }: { everywhere: Role | null; inGroups: GroupRole[] }) {
  const { t } = useTranslation('roles');
  if (everywhere === null && inGroups.length === 0) return <span className="muted">{t('none')}</span>;
  return (
    <span className="tags">
      {everywhere && <Mark colour={everywhere === 'admin' ? 'orange' : 'blue'}>{t(`role.${everywhere}`)}</Mark>}
      {inGroups.length > 0 && <GroupRoleTags inGroups={inGroups} />}
    </span>
  );
}

/** Apart, because names of groups are not for somebody who has a role in none: asking for them would be refused. */
function GroupRoleTags({ inGroups }: { inGroups: GroupRole[] }) {
  const { t } = useTranslation('roles');
  const groups = useGroups();
  return inGroups.map((one) => (
    <Tag key={one.group_id}>
      {groups.name(one.group_id)}: {t(`role.${one.role}`)}
    </Tag>
  ));
}

/** Form fields `role` and `groups`. */
export function RoleFields() {
  const { t } = useTranslation('roles');
  const roles = ROLES.map((role) => ({ value: role, label: t(`role.${role}`) }));
  return (
    <>
      <Form.Item name="role" label={t('everywhere')} extra={t('everywhereHint')}>
        <ClearableSelect placeholder={t('nothing')} options={roles} />
      </Form.Item>
      <GroupRoles roles={roles} />
    </>
  );
}

function GroupRoles({ roles }: { roles: { value: Role; label: string }[] }) {
  const { t } = useTranslation('roles');
  const groups = useGroups();
  const options = groups.all.map((one) => ({ value: one.id, label: one.title || one.app_name }));
  return (
    <Form.Item label={t('inGroups')}>
      <Form.List name="groups">
        {(fields, { add, remove }) => (
          <>
            {fields.map(({ key, name }) => (
              <div className="group-role" key={key}>
                <Form.Item name={[name, 'group_id']} rules={[{ required: true, message: t('chooseGroup') }]}>
                  <Select showSearch={{ optionFilterProp: 'label' }} options={options} aria-label={t('group')} />
                </Form.Item>
                <Form.Item name={[name, 'role']} rules={[{ required: true, message: t('chooseRole') }]}>
                  <Select options={roles} aria-label={t('roleIn')} />
                </Form.Item>
                <Button type="text" icon={<DeleteOutlined />} aria-label={t('remove')} onClick={() => remove(name)} />
              </div>
            ))}
            <Button size="small" icon={<PlusOutlined />} onClick={() => add({ role: 'viewer' })}>
              {t('add')}
            </Button>
          </>
        )}
      </Form.List>
    </Form.Item>
  );
}
