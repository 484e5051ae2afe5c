import { measure } from '../../../../bench/neural/measure.ts';
import { categorize } from './categorize.ts';
import { cleanConversation, type CleanOptions, partsOf } from './clean-message.ts';
import { contactsOf } from './signature-contacts.ts';
import { textOfHtml } from './html-text.ts';
import { signatureOf } from './signature.ts';
import { sentimentOf } from './sentiment.ts';

const NONE: CleanOptions = {
  ignoreLinks: false,
  ignoreImages: false,
  ignoreTables: false,
  imagesAsMarkdown: true,
  removeConclusionPhrases: false,
};
const message = (body: string) => ({
  body,
  files: [],
  fromName: 'Bo Smith',
  fromEmail: 'bo@acme.example',
});

/** Minimum accuracy promised in docs/neural.md; `npm run bench:neural` prints the figures. */
describe('the accuracy on the composed samples', () => {
  it.each([
    ['categories, development', 0.9],
    ['categories, held out', 0.9],
    ['subcategories', 0.85],
    ['sentiment', 0.65],
    ['conversation', 0.9],
    ['signature', 0.9],
  ])('for %s is at least %d', (what, least) => {
    const figure = measure().find((each) => each.what === what);
    expect((figure?.right ?? 0) / (figure?.of ?? 1)).toBeGreaterThanOrEqual(least);
  });
});

describe('cleanConversation', () => {
  const html =
    '<p>See <a href="https://x.example/(1)">the page</a>.</p><img src="https://x.example/i.png" alt="logo">' +
    '<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><p>Best regards,</p><p>Bo</p>';

  it.each<[Partial<CleanOptions>, string]>([
    [
      {},
      'See [the page](https://x.example/%281%29).\n\n![logo](https://x.example/i.png)\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\nBest regards,',
    ],
    [
      { ignoreLinks: true, ignoreImages: true },
      'See the page.\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\nBest regards,',
    ],
    [
      { imagesAsMarkdown: false, ignoreTables: true, removeConclusionPhrases: true },
      'See [the page](https://x.example/%281%29).\n\n<img alt="logo" src=\'https://x.example/i.png\'>\nA B\n1 2',
    ],
  ])('applies its options: %j', (options, text) => {
    expect(cleanConversation(message(html), { ...NONE, ...options })).toBe(text);
  });

  it('removes addresses that a browser would run, and data addresses', () => {
    const body =
      '<a href="javascript:alert(1)">a</a><img src="data:image/png;base64,AAAA"><img src="cid:none">';
    expect(cleanConversation(message(body), NONE)).toBe('a');
  });
});

describe('textOfHtml', () => {
  const plain = { ...NONE, ignoreLinks: true, ignoreImages: true };
  it.each([
    ['He<b>llo</b> <i>w</i>o<wbr>rld', 'Hello world'],
    ['<a href="https://x.example">li</a><span>nk</span><font>ed</font><o:p></o:p>', 'linked'],
    [
      'one<hr>two<address>three</address>four<center>five</center>six',
      'one\n\ntwo\nthree\nfour\nfive\nsix',
    ],
    [
      'one<dl><dt>two<dd>three</dl><fieldset><legend>four</legend>five</fieldset>',
      'one\ntwo\nthree\nfour\nfive',
    ],
    ['left<img src="x.gif">right', 'left right'],
    [
      '<table><tr><td>He<b>llo</b></td><td>1<br>2</td></tr><tr><td>a</td><td><p>b</p><p>c</p></td></tr></table>',
      '| Hello | 1 2 |\n| --- | --- |\n| a | b c |',
    ],
    ['<table><tr><td>He<b>llo</b></td></tr><tr><td>1</td></tr></table>', 'Hello\n1'],
    ['zero\u200bwidth', 'zero\u200bwidth'],
  ])('separates words only where the display does: %j', (html, text) => {
    expect(textOfHtml(html, plain)).toBe(text);
  });
});

describe('contactsOf', () => {
  const from = { name: 'Ada Byron', email: 'ada@firma.example' };
  it.each([
    ['bo@firma.de', 'Tel. 030 901820', ['+4930901820']],
    ['bo@acme.co.uk', 'T 020 7946 0958', ['+442079460958']],
    ['bo@acme.example', '(415) 555-2671', ['+14155552671']],
    ['bo@acme.example', 'Order 4711 of 2024-11-05', []],
  ])('reads phone numbers as those of the country of %s', (email, line, numbers) => {
    expect(contactsOf(line, { ...from, email }).phoneNumbers).toEqual(numbers);
  });

  it('ignores lines that are neither names nor titles', () => {
    const found = contactsOf(
      'Dr. Ada Byron, Chief Engineer\nKind regards\nADA@FIRMA.EXAMPLE',
      from,
    );
    expect(found.names).toEqual([{ firstName: 'Ada', lastName: 'Byron' }]);
    expect(found.jobTitles).toEqual(['Chief Engineer']);
    expect(found.emails).toEqual(['ada@firma.example']);
  });
});

describe('sentimentOf', () => {
  it.each(['Das war die Hölle, die Lieferung kam nicht', '素晴らしい', '', '12345'])(
    'rates text that is not English as neutral: %s',
    (text) => expect(sentimentOf(text)).toEqual({ sentiment: 'NEUTRAL', score: 0 }),
  );
});

/**
 * None of these inputs may cause an error. In production the thread's time limit ends methods that
 * take too long.
 */
describe('hostile HTML', () => {
  const LENGTH = 120_000;
  const repeated = (part: string) => part.repeat(Math.ceil(LENGTH / part.length));
  it.each([
    ['deeply nested', repeated('<div>')],
    ['unclosed', repeated('<b><i><p>x')],
    ['only <', repeated('<')],
    ['an attribute without an end', repeated('<a href="')],
    ['nothing but space', repeated(' ')],
    ['a long line of quote headers', 'Op a On b '.repeat(400)],
    ['quotes', repeated('&gt; a<br>')],
    ['nested quotes', repeated('<blockquote>')],
    ['headers of quotes', repeated('<div>From: a</div>')],
    ['broken entities', repeated('&amp')],
  ])('does not cause an error: %s', (_, body) => {
    for (const careful of [true, false]) {
      expect(partsOf(message(body), NONE, careful).text.length).toBeLessThan(60_000);
      signatureOf(message(body), NONE, true, careful);
    }
    const input = {
      subject: body.slice(0, 500),
      body,
      headers: body,
      from: [],
      to: [],
      inReplyTo: null,
    };
    expect(['conversation', 'feed']).toContain(categorize(input).category);
  });
});
