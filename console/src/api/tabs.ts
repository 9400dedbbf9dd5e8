// Tabs of one browser have one session. Who signs in in one of them says so to the others, which go on showing what
// somebody else may see until they know.

import { prefix } from '@/api/base';

const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`orth.session ${prefix}`) : null;

export function tellTabs(name: string): void {
  channel?.postMessage(name);
}

/** Be told who signs in in another tab; gives back how to stop being told. */
export function whenSignedInElsewhere(tell: (name: string) => void): () => void {
  const heard = ({ data }: MessageEvent<string>) => tell(data);
  channel?.addEventListener('message', heard);
  return () => channel?.removeEventListener('message', heard);
}
