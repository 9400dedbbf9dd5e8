const BROWSERS: [RegExp, string][] = [
  [/Edg\/(\d+)/, 'Edge'],
  [/OPR\/(\d+)/, 'Opera'],
  [/Firefox\/(\d+)/, 'Firefox'],
  [/Chrome\/(\d+)/, 'Chrome'],
  [/Version\/(\d+).* Safari\//, 'Safari'],
];

const SYSTEMS: [RegExp, string][] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
];

/** A browser as people call it, from what it says of itself; another program by its own words. */
export function browserOf(agent: string): string {
  for (const [pattern, name] of BROWSERS) {
    const found = pattern.exec(agent);
    if (!found) continue;
    const system = SYSTEMS.find(([one]) => one.test(agent))?.[1];
    return `${name} ${found[1]}${system ? ` · ${system}` : ''}`;
  }
  return agent.slice(0, 60);
}
