import { describe, expect, it } from 'vitest';
import { browserOf } from '@/parts/browserOf';

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

describe('a browser', () => {
  it('has the name people know, though each calls itself all the others', () => {
    expect(browserOf(CHROME)).toBe('Chrome 140 · Linux');
    expect(browserOf(`${CHROME} Edg/140.0.0.0`)).toBe('Edge 140 · Linux');
    expect(browserOf('Mozilla/5.0 (Windows NT 10.0; rv:141.0) Gecko/20100101 Firefox/141.0')).toBe(
      'Firefox 141 · Windows',
    );
    expect(browserOf('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605 Version/18.1 Safari/605')).toBe(
      'Safari 18 · macOS',
    );
  });

  it('that is another program keeps its own words', () => {
    expect(browserOf('orth/1.0')).toBe('orth/1.0');
    expect(browserOf('')).toBe('');
  });
});
