/** A right angle: orthos. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#4338ca" />
      <path d="M9 7v16h16" fill="none" stroke="#fff" strokeWidth="3.2" strokeLinecap="square" />
      <path d="M9 16h7v7" fill="none" stroke="#c7d2fe" strokeWidth="2.2" />
    </svg>
  );
}
