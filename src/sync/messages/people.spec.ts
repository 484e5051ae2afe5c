import { type Correspondence, isPersonal, partsOfName, peopleOf } from './people.ts';

const OWN = 'me@example.test';
const message = (given: Partial<Correspondence>): Correspondence => ({
  from: [{ email: 'Ada@Example.Test', name: 'Ada Lovelace' }],
  to: [{ email: OWN, name: 'Me' }],
  cc: [],
  headers: 'From: x\r\n',
  isAutomatic: false,
  news: false,
  ...given,
});
const emails = (...messages: Partial<Correspondence>[]) =>
  peopleOf(messages.map(message), OWN).map(({ email }) => email);

describe('people of messages', () => {
  it("include senders and recipients, but not the account's own address", () => {
    expect(
      emails({ to: [{ email: 'bo@x.test', name: '' }], cc: [{ email: 'cy@x.test', name: '' }] }),
    ).toEqual(['ada@example.test', 'bo@x.test', 'cy@x.test']);
    expect(emails({ from: [{ email: 'ME@example.test', name: 'Me' }] })).toEqual([]);
  });

  it.each([
    'no-reply@x.test',
    'noreply@x.test',
    'do-not-reply@x.test',
    'orders-noreply@x.test',
    'mailer-daemon@x.test',
    'bounces+ab=c@x.test',
    'notifications@x.test',
    'team-owner@x.test',
    'owner-team@x.test',
    'team-request@x.test',
    'reply+0123456789abcdef0123@x.test',
    'b-7kq2mzv9xw1t@x.test',
    'broken',
    'a b@x.test',
    'x@localhost',
    `${'a'.repeat(65)}@x.test`,
  ])('exclude the machine or invalid address %s', (email) => {
    expect(isPersonal(email)).toBe(false);
  });

  it.each([
    'ada@x.test',
    'noreen@x.test',
    'reply@x.test',
    'björn@x.test',
    'o.news@x.test',
    "d'arc@x.test",
    'b.papadopoulos@x.test',
  ])('include the address %s', (email) => {
    expect(isPersonal(email)).toBe(true);
  });

  it('exclude mailing lists, but include their senders', () => {
    const to = [
      { email: 'team@lists.x.test', name: 'Team' },
      { email: 'bo@x.test', name: '' },
    ];
    const headers =
      'List-Id: The team\r\n <team.lists.x.test>\r\nList-Post: <mailto:Team@lists.x.test>\r\nList-Unsubscribe: <x>\r\n';
    expect(emails({ to, headers })).toEqual(['ada@example.test', 'bo@x.test']);
    expect(emails({ to, headers: 'List-Id: <team.lists.x.test>\r\n' })).toEqual([
      'ada@example.test',
      'bo@x.test',
    ]);
  });

  it('exclude the people of bulk mail and of automatic mail', () => {
    expect(emails({ headers: 'List-Unsubscribe: <https://x.test>\r\n' })).toEqual([]);
    expect(emails({ isAutomatic: true })).toEqual([]);
  });

  it('exclude the recipients of a mass mailing', () => {
    const to = Array.from({ length: 101 }, (_, index) => ({ email: `a${index}@x.test`, name: '' }));
    expect(emails({ to })).toEqual(['ada@example.test']);
  });

  it('get the best name seen: from their own messages first, and full names before partial names', () => {
    const name = (...given: Partial<Correspondence>[]) => peopleOf(given.map(message), OWN)[0];
    const from = (text: string) => ({ from: [{ email: 'ada@example.test', name: text }] });
    const to = (text: string) => ({ from: [], to: [{ email: 'ada@example.test', name: text }] });
    expect(name(to('A. L.'), from('Ada'), from('Ada Lovelace'), from('Ada King'))).toMatchObject({
      name: 'Ada Lovelace',
      rank: 3,
    });
    expect(name(from('Ada'), to('Countess of Lovelace'))).toMatchObject({ name: 'Ada', rank: 2 });
    expect(name(to("'ada@example.test'"), from('Ada via Team'))).toMatchObject({
      name: '',
      rank: 0,
    });
    expect(name({}, { news: true })).toMatchObject({ news: true });
  });

  it.each([
    ['Ada', 'Ada', '', ''],
    ['Ada Lovelace', 'Ada', '', 'Lovelace'],
    ['Ada King Noel Lovelace', 'Ada', 'King Noel', 'Lovelace'],
    ['Lovelace, Ada', 'Ada', '', 'Lovelace'],
    ['Ada Lovelace (Firm)', 'Ada', '', 'Lovelace'],
    ['(Firm)', '(Firm)', '', ''],
    ['李雷', '李雷', '', ''],
  ])('split the display name %s into given, middle and surname', (name, given, middle, surname) => {
    expect(partsOfName(name)).toEqual({ given, middle, surname });
  });
});
