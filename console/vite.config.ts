import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** The component library measures scroll bars with a style it forgets to give the nonce; here it gets the page's. */
function nonceForEveryStyle(): Plugin {
  const forgets = /csp\?\.nonce\b/g;
  return {
    name: 'nonce-for-every-style',
    transform(code, id) {
      if (!id.endsWith('/@rc-component/util/es/Dom/dynamicCSS.js')) return null;
      if (!forgets.test(code)) throw new Error(`${id} has changed: see whether it gives every style the nonce.`);
      const nonce = `(csp?.nonce ?? document.querySelector('meta[property="csp-nonce"]')?.nonce)`;
      return {
        code: code.replace(/if \(csp\?\.nonce\)/, `if (${nonce})`).replace(/= csp\?\.nonce/, `= ${nonce}`),
        map: null,
      };
    },
  };
}

// Relative addresses everywhere: the server writes a <base> that leads to the root, under whatever prefix that is.
export default defineConfig({
  base: './',
  plugins: [react(), nonceForEveryStyle()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  html: { cspNonce: '__ORTH_NONCE__' },
  build: {
    outDir: 'dist',
    manifest: true,
    target: 'es2022',
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}', 'gates/**/*.test.ts'],
    setupFiles: ['./gates/setup.ts'],
    restoreMocks: true,
    isolate: false, // one document for all: making one for each file takes most of the time
  },
});
