// A proxy that serves the console under a path, as people put one in front, with TLS or without, and whose line can be
// cut.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const PREFIX = '/tools/orth';

export interface Proxy {
  url: string;
  cut: (cut: boolean) => void;
  /** Paths that were asked for outside the prefix. */
  strayed: () => string[];
  close: () => Promise<void>;
}

/** A certificate that nobody vouches for, of this machine. */
function certificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'orth-proxy-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  const made = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return made;
}

/** At a `port` that is known before, or at any. */
export async function proxyUnderPrefix(target: string, { tls = false, port: at = 0 } = {}): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const strayed: string[] = [];
  const sockets = new Set<Socket>();
  let isCut = false;

  function inside(message: IncomingMessage): string | null {
    const path = message.url ?? '/';
    const rest = path.startsWith(PREFIX) ? path.slice(PREFIX.length) : null;
    if (rest !== null && /^(?:$|[/?])/.test(rest)) return rest.startsWith('/') ? rest : `/${rest}`;
    strayed.push(path);
    return null;
  }

  const pass: RequestListener = (incoming, outgoing) => {
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
  };
  const server = tls ? createTlsServer(certificate(), pass) : createServer(pass);

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

  await new Promise<void>((ready) => server.listen(at, '127.0.0.1', ready));
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}${PREFIX}`,
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
