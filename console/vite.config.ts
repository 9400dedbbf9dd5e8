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

/**
 * Of what the component library reads out in English: icons beside words, and arrows that do with the pointer what a
 * field of numbers does with keys. They are nothing to be read; an icon that is something has a label of its own.
 */
function unread(): Plugin {
  const mends: Record<string, readonly [RegExp, string]> = {
    '/@ant-design/icons/es/components/AntdIconLight.js': [
      /\{\s*role: "img",\s*"aria-label": icon\.name\s*\}/,
      `restProps['aria-label'] || restProps.role ? { role: 'img' } : { 'aria-hidden': true }`,
    ],
    '/@rc-component/input-number/es/StepHandler.js': [/role: "button",/, '"aria-hidden": true,'],
  };
  return {
    name: 'unread',
    transform(code, id) {
      const [mended, to] = Object.entries(mends).find(([file]) => id.endsWith(file))?.[1] ?? [];
      if (!mended || to === undefined) return null;
      if (!mended.test(code)) throw new Error(`${id} has changed: see what of it is read out.`);
      return { code: code.replace(mended, to), map: null };
    },
  };
}

// Relative addresses everywhere: the server writes a <base> that leads to the root, under whatever prefix that is.
export default defineConfig({
  base: './',
  plugins: [react(), nonceForEveryStyle(), unread()],
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
    testTimeout: 30_000,
    isolate: false, // one document for all: making one for each file takes most of the time
  },
});
