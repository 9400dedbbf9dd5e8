import { Spin } from 'antd';
import './shell.css';

export function Waiting() {
  return (
    <div className="waiting" aria-busy="true">
      <Spin size="large" />
    </div>
  );
}
