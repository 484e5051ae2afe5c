import { escapedJson, forTerminal, onOneLine, withoutControls } from './plain-text.ts';

/** Every character that a terminal obeys. */
const DANGEROUS = [
  ...Array.from({ length: 32 }, (_, code) => code).filter((code) => code !== 0x09 && code !== 0x0a),
  ...Array.from({ length: 33 }, (_, index) => 0x7f + index),
  0x202a,
  0x202b,
  0x202c,
  0x202d,
  0x202e,
  0x2066,
  0x2067,
  0x2068,
  0x2069,
].map((code) => String.fromCharCode(code));

const OSC_52 = '\u001b]52;c;cm0gLXJmIH4=\u0007';

describe('untrusted text', () => {
  it.each(DANGEROUS.map((character) => [JSON.stringify(escapedJson(character)), character]))(
    'loses %s for terminals and has it escaped in JSON',
    (_, character) => {
      const text = `a${character}b`;
      expect(forTerminal(text)).toBe('ab');
      expect(withoutControls(text)).toBe('ab');
      expect(onOneLine(text)).toMatch(/^a ?b$/);
      const json = escapedJson(JSON.stringify({ text }));
      expect(json).not.toContain(character);
      expect(JSON.parse(json)).toEqual({ text });
    },
  );

  it('keeps line breaks and tabs on a terminal, and letters of every script', () => {
    expect(forTerminal('one\r\n\ttwo')).toBe('one\n\ttwo');
    const scripts = 'Grüße, Ελένη, 東京, שלום\u200f, 👩‍👩‍👧';
    expect(forTerminal(scripts)).toBe(scripts);
    expect(escapedJson(JSON.stringify(scripts))).toBe(JSON.stringify(scripts));
  });

  it('puts text on one line for table cells', () => {
    expect(onOneLine(` one\n\n\ttwo${OSC_52}\u2028three `)).toBe('one two]52;c;cm0gLXJmIH4= three');
  });

  it('escapes control characters in JSON and keeps its layout', () => {
    expect(escapedJson(JSON.stringify({ a: ['\u009b'] }, null, '\t'))).toBe(
      '{\n\t"a": [\n\t\t"\\u009b"\n\t]\n}',
    );
  });
});
