// A proxy that serves the console under a path, as people put one in front, and whose line can be cut.

import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export const PREFIX = '/tools/orth';

export interface Proxy {
  url: string;
  cut: (cut: boolean) => void;
  /** Paths that were asked for outside the prefix. */
  strayed: () => string[];
  close: () => Promise<void>;
}

export async function proxyUnderPrefix(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const strayed: string[] = [];
  const sockets = new Set<Socket>();
  let isCut = false;

  function inside(message: IncomingMessage): string | null {
    const path = message.url ?? '/';
    if (path === PREFIX || path.startsWith(`${PREFIX}/`)) return path.slice(PREFIX.length) || '/';
    strayed.push(path);
    return null;
  }

  const server = createServer((incoming, outgoing) => {
    const path = inside(incoming);
    if (path === null || isCut) {
      outgoing.writeHead(path === null ? 404 : 502).end();
      return;
    }
    const passed = request({ hostname, port, path, method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });

  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    const path = inside(incoming);
    if (path === null || isCut) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    const passed = request({ hostname, port, path, headers: incoming.headers });
    passed.on('upgrade', (answer, upstream) => {
      const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`);
      upstream.pipe(socket).pipe(upstream);
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.destroy());
      socket.on('close', () => upstream.destroy());
    });
    passed.on('response', () => socket.destroy());
    passed.on('error', () => socket.destroy());
    passed.end(head);
  });

  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PREFIX}`,
    cut: (cut) => {
      isCut = cut;
      if (cut) for (const socket of sockets) socket.destroy();
    },
    strayed: () => strayed.filter((path) => path !== '/favicon.ico'),
    close: () =>
      new Promise((closed) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
