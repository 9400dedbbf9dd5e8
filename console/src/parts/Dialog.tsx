import { Modal, type ModalProps } from 'antd';

/** A dialog that a button opens. The second click of a double click, which comes down beside it, does not close it. */
export function Dialog({ onCancel, ...props }: ModalProps) {
  return <Modal {...props} onCancel={(event) => event.detail < 2 && onCancel?.(event)} />;
}
