import { Modal, type ModalProps } from 'antd';
import { useEffect, useState } from 'react';

/** A dialog that a button opens. The second click of a double click, which comes down beside it, does not close it. */
export function Dialog({ onCancel, ...props }: ModalProps) {
  useFocusBack(!!props.open);
  return <Modal {...props} onCancel={(event) => event.detail < 2 && onCancel?.(event)} />;
}

/** A modal gives the focus back when it is closed, but not when it is taken away instead: one that begins open does that
 * itself, to what had the focus before, unless something else has it by then. */
function useFocusBack(beginsOpen: boolean) {
  const [before] = useState(() => (beginsOpen ? document.activeElement : null));
  useEffect(
    () => () => {
      const nobody = document.activeElement === null || document.activeElement === document.body;
      if (nobody && before instanceof HTMLElement && before.isConnected) before.focus();
    },
    [before],
  );
}
