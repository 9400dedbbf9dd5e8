import type { Wrong } from '@/parts/job/schema';
import { useWrongText } from '@/parts/job/useWrongText';

/** What is wrong with a parameter, argument by argument. */
export function WrongList({ wrong }: { wrong: readonly Wrong[] }) {
  const say = useWrongText();
  return (
    <ul className="wrong-list">
      {wrong.map(({ name, ...one }) => (
        <li key={name}>
          {name !== null && <span className="mono">{name}: </span>}
          {say(one)}
        </li>
      ))}
    </ul>
  );
}
