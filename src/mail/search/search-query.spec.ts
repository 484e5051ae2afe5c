import {
  indexLexeme,
  keyedDocument,
  keyedLetter,
  type LexemeOf,
} from '../../formats/text/lexemes.ts';
import { searchDocument } from '../../formats/text/search-document.ts';
import { parseSearchQuery, type StateMatch, type Term, type TextMatch } from './search-query.ts';
import { groupText, rankText } from './tsquery.ts';
import { tokensOf } from '../../formats/text/words.ts';

const NOW = new Date('2026-03-04T05:06:07Z');
const ID = '019aa1b2-0000-7000-8000-0000000a0b0c';
/** Shows the field of each word. */
const keyless: LexemeOf = (field, word) => keyedLetter(field) + word;
const parse = (query: string) => parseSearchQuery(query, NOW).groups;
const only = (query: string): Term => {
  const groups = parse(query);
  expect(groups).toHaveLength(1);
  expect(groups[0]).toHaveLength(1);
  return groups[0]?.[0] as Term;
};
/** Without the parentheses around each group. */
const text = (query: string) =>
  parse(query)
    .map((group) => groupText(keyless, group)?.slice(1, -1))
    .join(' & ');

describe('tokensOf', () => {
  const words = (given: string) =>
    tokensOf(given).flatMap((token) => token.words.map(({ folded }) => folded));

  it.each([
    ['Crème BRÛLÉE', ['creme', 'brulee']],
    ['Straße STRASSE', ['strasse', 'strasse']],
    ['İstanbul ısı', ['istanbul', 'isi']],
    ['ﬁne Æther Œuvre Łódź', ['fine', 'aether', 'oeuvre', 'lodz']],
    ['ὈΔΥΣΣΕΎΣ ὀδυσσεύς', ['οδυσσευσ', 'οδυσσευσ']],
    ['ёж йод', ['еж', 'йод']],
    ['がか ガ', ['が', 'か', 'ガ']],
    ['हिन्दी', ['हिन्दी']],
    ['مُحَمَّد', ['محمد']],
    ['co\u00adoperate a\u200bb', ['cooperate', 'ab']],
    ['ＦＵＬＬ ｗｉｄｔｈ', ['full', 'width']],
    ['👍🏽 ok 1️⃣', ['ok', '1']],
    ["l'été don’t", ['l', 'ete', 'don', 't']],
    ['', []],
    ['\u0301 \u{1f389} !?', []],
  ])('folds %s', (given, folded) => {
    expect(words(given)).toEqual(folded);
  });

  it('finds words in scripts without spaces', () => {
    expect(words('我们在会议室开会')).toContain('会议');
    expect(words('明日の会議は東京で')).toEqual(expect.arrayContaining(['会議', '東京']));
    expect(words('เราจะประชุมกัน')).toContain('ประชุม');
  });

  it('keeps the useful parts of addresses and compounds as whole tokens', () => {
    const wholes = (given: string) => tokensOf(given)[0]?.wholes;
    expect(wholes('Bo.Miller@mail.Example.test')).toEqual([
      'bo.miller@mail.example.test',
      'bo.miller',
      'mail.example.test',
      'example.test',
    ]);
    expect(wholes('e\u2011mail')).toEqual(['e-mail']);
    expect(wholes('report_v2.final.pdf')).toEqual(['report_v2.final.pdf', 'final.pdf']);
  });

  it('cuts tokens that are too long to be words', () => {
    expect(words('x'.repeat(5_000))).toEqual(['x'.repeat(64)]);
    const [token] = tokensOf('a.'.repeat(5_000) + 'a');
    expect(token?.words).toHaveLength(20);
    expect(token?.wholes).toHaveLength(1);
  });
});

describe('searchDocument', () => {
  const message = { subject: '', from: [], to: [], cc: [], bcc: [], body: '', files: [] };

  it('stores position and field of each word, in the form of either table', () => {
    const document = searchDocument({
      ...message,
      subject: 'Plans',
      from: [{ name: 'Bo', email: 'bo@x.test' }],
      body: '<p>No plans</p>',
      files: [{ filename: 'plans.pdf' }],
    });
    expect(document).toContain("'plans':1A,35C,48 ");
    expect(document).toContain("'Fbo@x.test':23B ");
    expect(document).toContain("'Nplans.pdf':35C ");
    const keyed = keyedDocument(ID, document);
    expect(keyed).toContain("'CgsMwplans':1A,35C,48 ");
    expect(keyed).toContain("'CgsMfbo@x.test':23B ");
    expect(keyed).toContain("'CgsMnplans.pdf':35C ");
    expect(keyed.split(' ')).toHaveLength(document.split(' ').length);
  });

  it('stays within the limits of PostgreSQL for messages of any length', () => {
    const words = Array.from({ length: 40_000 }, (_, index) => `w${index % 7_000}`).join(' ');
    const document = searchDocument({
      ...message,
      subject: words.slice(0, 10_000),
      body: `<p>${words}</p>`,
    });
    expect(document.length).toBeLessThan(500_000);
    const positions = [...document.matchAll(/[:,](\d+)/g)].map(([, position]) => Number(position));
    expect(Math.max(...positions)).toBeLessThan(16_383);
  });
});

describe('parseSearchQuery', () => {
  it.each([
    ['zeppelin late ', "('wzeppelin') & ('wlate')"],
    ['"is late"', "(('wis' <-> 'wlate'))"],
    ['-late x', "!('wlate') & ('wx')"],
    ['late OR -seen x', "('wlate') | !('wseen') & ('wx')"],
    ['from:Bo x', "('fbo') & ('wx')"],
    ['-from:"Bo Miller"', "!(('fbo' <-> 'fmiller'))"],
    ['well-known ', "(('wwell-known' | ('wwell' <-> 'wknown')))"],
    ['bo@x.test ', "('wbo@x.test')"],
    ['会议室 ', "('w会议' & 'w室')"],
    ['zepp', "('wzepp':*)"],
    ['ze', "('wze')"],
    ['ze*', "('wze':*)"],
    ['z* x', "('wz') & ('wx')"],
    ['zepp* late ', "('wzepp':*) & ('wlate')"],
    ['会', "('w会':*)"],
    ['bo@exa', "('wbo@exa':*)"],
    ['OR x OR', "('wor') & ('wx') & ('wor')"],
    ['or x ', "('wor') & ('wx')"],
    ['nothing:known ', "('wnothing' & 'wknown')"],
    ['from: x ', "('wfrom') & ('wx')"],
    ['is:late ', "('wis' & 'wlate')"],
    ['(a) ', "('wa')"],
  ])('reads %s', (query, expected) => {
    expect(text(query)).toBe(expected);
  });

  it.each<[string, Partial<StateMatch>]>([
    ['is:unread', { kind: 'flag', flag: 'unread', value: true }],
    ['IS:Read', { kind: 'flag', flag: 'unread', value: false }],
    ['is:starred', { kind: 'flag', flag: 'starred', value: true }],
    ['has:attachment', { kind: 'flag', flag: 'attachment', value: true }],
    ['in:"My Folder"', { kind: 'folder', name: 'My Folder' }],
    ['label:work', { kind: 'folder', name: 'work' }],
    ['after:2026-02-01', { kind: 'from', at: new Date('2026-02-01T00:00:00Z') }],
    ['before:2026/2/1', { kind: 'before', at: new Date('2026-02-01T00:00:00Z') }],
    ['older:1700000000', { kind: 'before', at: new Date(1_700_000_000_000) }],
    ['newer_than:2d', { kind: 'from', at: new Date('2026-03-02T05:06:07Z') }],
    ['older_than:1y', { kind: 'before', at: new Date('2025-03-04T05:06:07Z') }],
  ])('reads %s', (query, match) => {
    expect(only(query)).toEqual({ negated: false, match });
    expect(only(`-${query}`)).toEqual({ negated: true, match });
  });

  it.each(['before:2026-02-30', 'after:yesterday', 'after:0000-01-01', 'newer_than:x', 'has:cats'])(
    'reads %s as words',
    (query) => expect(only(query).match.kind).toBe('text'),
  );

  it('omits the word order when it queries the index', () => {
    const loose = (query: string) =>
      parse(query).map((group) => groupText(keyless, group, 'loose'));
    expect(loose('"is late"')).toEqual(["((('wis' & 'wlate')))"]);
    expect(loose('well-known ')).toEqual(["((('wwell-known' | ('wwell' & 'wknown'))))"]);
    expect(loose('-"is late"')).toEqual([null]);
    expect(loose('x OR -"is late"')).toEqual([null]);
    expect(loose('-late')).toEqual(["(!('wlate'))"]);
  });

  it('ranks by the requested words, in their original spelling first', () => {
    expect(rankText(keyless, parse('Crème -x "a b"'))).toBe("'wcreme' | 'xcrème' | 'wa' | 'wb'");
    expect(rankText(keyless, parse('-x is:unread'))).toBeNull();
    expect(rankText(keyless, parse('zepp'))).toBe("'wzepp' | 'wzepp':*");
  });

  it('limits the number of words', () => {
    const match = only('会议'.repeat(400)).match as TextMatch;
    expect(match.tokens.flatMap((token) => token.words).length).toBeLessThanOrEqual(64);
    expect(parse('a '.repeat(500)).length).toBeLessThanOrEqual(64);
  });

  it('turns any text into a query that PostgreSQL can read', () => {
    const pieces = [
      '"',
      "'",
      '\\',
      ':*',
      '-',
      '(',
      ')',
      'OR',
      'from:',
      'subject:"',
      '<->',
      '\0',
      '\ud800',
      'é',
      '会议',
      'a',
      'Bo@x.test',
      '*',
      '!',
      '&',
      '|',
      ' ',
      '\u0301',
      '\u00ad',
      'before:2026',
      'a-b',
      '.',
    ];
    const lexeme = /'[^'\\\0]+'(?::\*)?/gu;
    for (let number = 0; number < 20_000; number += 1) {
      const query = Array.from(
        { length: 1 + (number % 12) },
        () => pieces[Math.floor(Math.random() * pieces.length)],
      ).join('');
      for (const group of parse(query)) {
        if (group.some(({ match }) => match.kind !== 'text')) continue;
        const skeleton = groupText(indexLexeme(ID), group)?.replaceAll(lexeme, 'L') ?? '';
        // Operators must be between operands, and parentheses in pairs.
        let left = skeleton.replaceAll(' ', '').replaceAll('<->', '&').replaceAll('|', '&');
        for (let before = ''; before !== left;) {
          before = left;
          left = left.replaceAll('!L', 'L').replaceAll('L&L', 'L').replaceAll('(L)', 'L');
        }
        expect({ query, left }).toEqual({ query, left: 'L' });
      }
    }
  });
});
