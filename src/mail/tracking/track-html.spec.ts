import {
  LONGEST_URL,
  markHtml,
  MOST_FOREIGN,
  MOST_HTML,
  MOST_LINKS,
  MOST_REPLACEMENTS,
  pixelTag,
} from './track-html.ts';

const PIXEL = 'https://mail.example.test/t/o?i=abc';
const IMAGE = pixelTag(PIXEL);
const marked = (html: string) =>
  markHtml(html, { pixel: PIXEL, link: (_, index) => `https://t.test/${index}` });
/** Marks only the links. */
const linked = async (html: string) =>
  (await markHtml(html, { pixel: null, link: (_, index) => `https://t.test/${index}` })).html;
/** Adds only the image. */
const seen = async (html: string) => (await markHtml(html, { pixel: PIXEL, link: null })).html;

describe('markHtml, links', () => {
  it.each([
    ['double quotes', '<a href="http://a.test/">x</a>', '<a href="https://t.test/0">x</a>'],
    ['single quotes', "<a href='http://a.test/'>x</a>", "<a href='https://t.test/0'>x</a>"],
    ['no quotes', '<a href=http://a.test/ b>x</a>', '<a href="https://t.test/0" b>x</a>'],
    [
      'capitals and spaces',
      '<A ID=1 HREF = "HTTPS://A.test">x</A>',
      '<A ID=1 HREF = "https://t.test/0">x</A>',
    ],
    [
      'line breaks',
      '<a\r\n  href="http://a\r\n.test"\r\n>x',
      '<a\r\n  href="https://t.test/0"\r\n>x',
    ],
    [
      'areas',
      '<map><area href="http://a.test"></map>',
      '<map><area href="https://t.test/0"></map>',
    ],
    [
      'the first of two',
      '<a href="http://a.test" href="http://b.test">',
      '<a href="https://t.test/0" href="http://b.test">',
    ],
    [
      'two addresses',
      '<a href=http://a.test><a href=http://b.test>',
      '<a href="https://t.test/0"><a href="https://t.test/1">',
    ],
    [
      'one address twice',
      '<a href=http://a.test><a href=http://a.test>',
      '<a href="https://t.test/0"><a href="https://t.test/0">',
    ],
    [
      'revealed by conditions',
      '<![if !mso]><a href="http://a.test">',
      '<![if !mso]><a href="https://t.test/0">',
    ],
    [
      'in SVG',
      '<svg><a xlink:href="http://x.test" href="http://a.test">',
      '<svg><a xlink:href="http://x.test" href="https://t.test/0">',
    ],
  ])('replaces link addresses (%s)', async (_, html, expected) => {
    expect(await linked(html)).toBe(expected);
  });

  it.each([
    '<a href="mailto:ada@example.test?subject=http://a.test">x</a>',
    '<a href="#top">x</a><a href="/there">x</a><a href="//a.test/x">x</a><a name="http://a.test">x</a><a href>x</a>',
    '<a href="javascript:location=`http://a.test`">x</a><a href="tel:+1">x</a><a href="ftp://a.test">x</a>',
    '<a href="http://">x</a><a href="http:// a">x</a><a href="https://a.test:99999">x</a>',
    `<a href="http://a.test/${'x'.repeat(LONGEST_URL)}">x</a>`,
    '<img src="http://a.test"><link href="http://a.test"><base href="http://a.test"><form action="http://a.test">',
    '<!-- <a href="http://a.test">x</a> --><!--[if mso]><a href="http://b.test">y</a><![endif]-->',
    '<style>a{}<a href="http://a.test"></style><script>"<a href=http://a.test>"</script><title><a href=http://a.test></title>',
    '<textarea><a href="http://a.test"></textarea><xmp><a href="http://a.test"></xmp>',
    'a < b & c &amp; d &nbsp; &bogus; <a title="<a href=http://a.test>" x',
    '<a href="http://a.test',
    '<p>x <!-- <a href="http://a.test">',
    'http://a.test in plain text',
    '',
  ])('leaves %s unchanged', async (html) => {
    expect(await markHtml(html, { pixel: null, link: () => 'https://t.test' })).toEqual({
      html,
      urls: [],
    });
  });

  it('returns addresses in decoded form', async () => {
    const { urls } = await marked(
      '<a href=" http://a.test/?x=1&amp;y=%20&copy=2 ">x</a><a href="https://ü.test/ä\n">',
    );
    expect(urls).toEqual(['http://a.test/?x=1&y=%20&copy=2', 'https://ü.test/ä']);
  });

  it('replaces no more different addresses than MOST_LINKS', async () => {
    const html = Array.from(
      { length: MOST_LINKS + 5 },
      (_, n) => `<a href="http://a.test/${n}">x</a>`,
    ).join('');
    const { html: after, urls } = await marked(`${html}<a href="http://a.test/0">`);
    expect(urls).toHaveLength(MOST_LINKS);
    expect(after).toContain(`<a href="http://a.test/${MOST_LINKS}">`);
    expect(after.match(/t\.test\/0"/g)).toHaveLength(2);
  });

  it('replaces no more links than MOST_REPLACEMENTS', async () => {
    const html = '<a href="http://a.test/">x</a>'.repeat(MOST_REPLACEMENTS + 5);
    expect((await linked(html)).split('https://t.test/0')).toHaveLength(MOST_REPLACEMENTS + 1);
  });

  it('escapes addresses so that they cannot leave their attribute', async () => {
    const { html } = await markHtml(`<a href='http://a.test'>`, {
      pixel: null,
      link: () => `https://t.test/?a=1&b='"`,
    });
    expect(html).toBe(`<a href='https://t.test/?a=1&amp;b=%27%22'>`);
  });
});

describe('markHtml, the image', () => {
  it.each([
    [
      'before the end of the body',
      '<html><body><p>x</BODY ></html>',
      '<html><body><p>x',
      '</BODY ></html>',
    ],
    ['at the end if there is no end of a body', '<p>x', '<p>x', ''],
    ['at the end of plain text', 'Hello & good-bye <', 'Hello & good-bye <', ''],
    ['in an empty text', '', '', ''],
    ['not where a body ends in a comment', '<p>x<!-- </body> -->', '<p>x<!-- </body> -->', ''],
    ['not where a body ends in a style', '<style></body></style>x', '<style></body></style>x', ''],
    ['not in an attribute', '<p title="</body>">x', '<p title="</body>">x', ''],
    ['before a comment without an end', '<p>x<!-- y', '<p>x', '<!-- y'],
    [
      'before a tag without an end',
      '<p>x</p><a href="y',
      '<p>x</p>'.slice(0, 3),
      'x</p><a href="y',
    ],
    ['before a style without an end', '<p>x<style> y', '<p>x', '<style> y'],
    [
      'before a select element without an end',
      '<p>x<select><option>y</body>',
      '<p>x',
      '<select><option>y</body>',
    ],
    ['before an end tag without an end', '<p>x</body ', '<p>x', '</body '],
    ['behind the last complete tag if the text ends in a tag name', '<p>x<im', '<p>', 'x<im'],
    [
      'before the first of two ends of a body',
      'x</body></html>y</body>',
      'x',
      '</body></html>y</body>',
    ],
  ])('puts the image %s', async (_, html, before, after) => {
    expect(await seen(html)).toBe(`${before}${IMAGE}${after}`);
  });

  it('adds the image once, and only if it is wanted', async () => {
    expect(await markHtml('<p>x', { pixel: null, link: null })).toEqual({ html: '<p>x', urls: [] });
    expect((await seen('<body>x</body>')).split(IMAGE)).toHaveLength(2);
  });
});

describe('markHtml, with any input', () => {
  const PARTS = [
    '<a href="http://a.test/1">',
    "<a HREF='https://b.test/?a=1&amp;b'>",
    '<a href=http://c.test>',
    '</a>',
    '<p>',
    '</p>',
    '</body>',
    '<body>',
    '<!--',
    '-->',
    '<!DOCTYPE html>',
    '<style>',
    '</style>',
    '<script>',
    '</script>',
    '<textarea>',
    '</textarea>',
    '"',
    "'",
    '>',
    '<',
    '&amp;',
    '&',
    '\r\n',
    '\n',
    '\r',
    '\0',
    '\u00a0',
    'ä',
    '😀',
    '\ud83d',
    ' ',
    'text',
    '<a ',
    'href=',
    '<area href="http://d.test"/>',
    '<![CDATA[',
    ']]>',
    '<svg>',
    '</svg>',
    '<pre>\n',
    '<template>',
    '<?xml ?>',
    '<plaintext>',
    '=',
    '/',
    'http://e.test',
    '<table><tr><td>',
  ];
  /** A generator of numbers that are the same in every run (mulberry32). */
  function numbers(seed: number): () => number {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  it('returns the original text once its marks are removed', async () => {
    const next = numbers(20_261_121);
    for (let round = 0; round < 2_000; round += 1) {
      const parts = Array.from(
        { length: 1 + Math.floor(next() * 14) },
        () => PARTS[Math.floor(next() * PARTS.length)],
      );
      const html = parts.join('');
      const { html: after, urls } = await markHtml(html, {
        pixel: PIXEL,
        link: (_, index) => `MARK${index}`,
      });
      const pieces = after.split(IMAGE);
      expect(pieces).toHaveLength(2);
      // Between two marks the text is unchanged. Each mark stands where the value of an attribute
      // was.
      const [first = '', ...others] = pieces.join('').split(/(?<==\s*)(?=["']MARK\d+["'])/);
      let at = first.length;
      expect(html.slice(0, at)).toBe(first);
      for (const other of others) {
        const [mark = '', index] = /^["']MARK(\d+)["']/.exec(other) ?? [];
        const [value = ''] = /^("[^"]*"|'[^']*'|[^\s>]*)/.exec(html.slice(at)) ?? [];
        expect([html, meant(value)]).toEqual([html, urls[Number(index)]]);
        at += value.length;
        const rest = other.slice(mark.length);
        expect(html.slice(at, at + rest.length)).toBe(rest);
        at += rest.length;
      }
      expect(at).toBe(html.length);
    }
  });

  const meant = (value: string) =>
    value
      .replace(/^(["'])(.*)\1$/s, '$2')
      .replaceAll('&amp;', '&')
      .replace(/[\t\r\n]/g, '')
      .replaceAll('\0', '\ufffd')
      .trim()
      .toWellFormed();

  it('reads long texts in pieces, with the same result', async () => {
    const line = '<p>Grüße 😀 <a href="https://a.test/?b=c">x</a>\r\n';
    const html = line.repeat(1_900);
    const { html: after, urls } = await marked(`${html}</body>`);
    expect(urls).toEqual(['https://a.test/?b=c']);
    expect(after).toBe(
      `${html.replaceAll('https://a.test/?b=c', 'https://t.test/0')}${IMAGE}</body>`,
    );
  });

  it('limits how much of a text is parsed', async () => {
    const link = '<a href="https://a.test/">x</a>';
    const deep = '<svg>'.repeat(MOST_FOREIGN);
    expect((await marked(deep + link)).urls).toEqual(['https://a.test/']);
    const deeper = `${deep}<math>${link}`;
    expect(await marked(deeper)).toEqual({ html: `${deep}${IMAGE}<math>${link}`, urls: [] });
    const long = `${link}<p>${' '.repeat(MOST_HTML)}${link}</body>`;
    const { html, urls } = await marked(long);
    expect(urls).toEqual(['https://a.test/']);
    expect(html.endsWith(` ${link}</body>`)).toBe(true);
    expect(html.split(IMAGE)).toHaveLength(2);
  });
});
