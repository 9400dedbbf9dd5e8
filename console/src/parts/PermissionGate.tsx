import type { ReactNode } from 'react';
import { type Permission, useMay } from '@/api/session';

/** Shows what is inside only to those who may use it. The server refuses the others all the same. */
export function PermissionGate(props: { needs: Permission; group?: number; children: ReactNode }) {
  const may = useMay();
  return may(props.needs, props.group) ? props.children : null;
}
