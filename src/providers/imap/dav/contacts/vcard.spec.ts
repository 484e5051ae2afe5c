import { CONTACT_TEXTS, contactFields } from '../../../port/contact-content.ts';
import { pictureTag, readPicture } from './vcard-picture.ts';
import {
  cardText,
  isGroupCard,
  newCard,
  parseCard,
  readCard,
  stampCard,
  uidOf,
  writeCard,
} from './vcard.ts';

const CARD = [
  'BEGIN:VCARD',
  'VERSION:3.0',
  'UID:u1',
  'FN:Dr. Ada Lovelace',
  'N:Lovelace;Ada;King;Dr.;Jr.',
  'ORG:Firm;Dept',
  'item1.EMAIL;TYPE=INTERNET,WORK,pref:ada@example.test',
  'item1.X-ABLabel:Office',
  'EMAIL;TYPE=HOME:home@example.test',
  'TEL;TYPE=CELL,VOICE:+49 1',
  'ADR;TYPE=HOME:;;Street 1\\, b;City;State;123;DE',
  'BDAY:1990-01-02',
  'X-FOO;P=1:kept',
  'END:VCARD',
  '',
].join('\r\n');

describe('cards', () => {
  it('are read under the field names of the API', () => {
    expect(readCard(parseCard(CARD))).toMatchObject({
      given_name: 'Ada',
      middle_name: 'King',
      surname: 'Lovelace',
      suffix: 'Jr.',
      company_name: 'Firm',
      birthday: '1990-01-02',
      emails: [
        { type: 'work', email: 'ada@example.test' },
        { type: 'home', email: 'home@example.test' },
      ],
      phone_numbers: [{ type: 'cell', number: '+49 1' }],
      physical_addresses: [
        {
          type: 'home',
          format: 'structured',
          street_address: 'Street 1, b',
          city: 'City',
          state: 'State',
          postal_code: '123',
          country: 'DE',
        },
      ],
    });
  });

  it('change only the given fields and keep the rest', () => {
    const card = parseCard(CARD);
    writeCard(card, {
      surname: 'King',
      emails: [{ type: 'work', email: 'ada@example.test' }],
      company_name: 'Other',
    });
    const text = card.toString();
    for (const part of [
      'N:King;Ada;King;Dr.;Jr.',
      'ORG:Other;Dept',
      'X-FOO;P=1:kept',
      'X-ABLABEL:Office',
      'TYPE=INTERNET,WORK,pref',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('home@example.test');
  });

  it('stay unchanged when their own content is written', () => {
    const card = parseCard(CARD);
    const before = card.toString();
    writeCard(card, readCard(card));
    expect(card.toString()).toBe(before);
  });

  it('always have a name', () => {
    const card = newCard('u');
    writeCard(card, { emails: [{ type: null, email: 'x@example.test' }] });
    expect(card.toString()).toContain('FN:x@example.test');
  });

  it('of version 2.1 become version 3 when they are changed', () => {
    const card = parseCard(
      [
        'BEGIN:VCARD',
        'VERSION:2.1',
        'N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;Ada\\;Bo',
        'TEL;CELL;VOICE:1',
        'NOTE;QUOTED-PRINTABLE:a, b=0D=0A=',
        'c=3B d',
        'END:VCARD',
        '',
      ].join('\r\n'),
    );
    expect(readCard(card)).toMatchObject({
      surname: 'Müller',
      given_name: 'Ada;Bo',
      notes: 'a, b\nc; d',
      phone_numbers: [{ type: 'cell', number: '1' }],
    });
    writeCard(card, { job_title: 'Captain' });
    stampCard(card, new Date(0));
    const lines = cardText(card).split('\r\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'VERSION:3.0',
        'N:Müller;Ada\\;Bo',
        expect.stringMatching(/^TEL;TYPE=CELL,VOICE\b.*:1$/),
        'NOTE:a\\, b\\nc; d',
      ]),
    );
  });

  it('store groups as categories and keep their spelling', () => {
    const card = parseCard(
      CARD.replace('X-FOO', 'CATEGORIES:Friends / Choir,Work\\, old\r\nX-FOO'),
    );
    expect(readCard(card)['groups']).toEqual(['Friends/Choir', 'Work, old']);
    writeCard(card, { groups: ['Friends/Choir', 'New'] });
    expect(cardText(card)).toContain('CATEGORIES:Friends / Choir,New\r\n');
    writeCard(card, { groups: [] });
    expect(cardText(card)).not.toContain('CATEGORIES');
  });

  it.each(['KIND:group', 'X-ADDRESSBOOKSERVER-KIND:group'])('can describe a group: %s', (line) => {
    expect(isGroupCard(parseCard(CARD.replace('X-FOO', `${line}\r\nX-FOO`)))).toBe(true);
    expect(isGroupCard(parseCard(CARD))).toBe(false);
    expect(uidOf(parseCard(CARD.replace('UID:u1', 'UID:urn:uuid:u1')))).toBe('u1');
  });

  it.each(['3.0', '4.0'])(
    'are read even if a value does not match its type: version %s',
    (version) => {
      const odd = [
        'BDAY:circa 1800',
        'X-A;VALUE=date:xx',
        'PHOTO;VALUE=date:xx',
        'CATEGORIES;VALUE=date:xx',
        'TITLE;VALUE=date:xx',
      ];
      const card = withPhoto(version, odd.join('\r\n'));
      expect(readCard(card)).toMatchObject({
        given_name: 'Ada',
        birthday: '1990-01-02',
        job_title: 'xx',
        groups: ['xx'],
      });
      expect(pictureTag(card)).toBeNull();
    },
  );

  it('contain only the given fields: a line break in a value starts no property', () => {
    const odd = 'a\r\nNOTE:forged\u2028b';
    const card = newCard('u');
    writeCard(card, {
      ...Object.fromEntries(
        CONTACT_TEXTS.filter((name) => name !== 'birthday').map((name) => [name, odd]),
      ),
      emails: [{ type: odd, email: odd }],
      phone_numbers: [{ type: odd, number: odd }],
      im_addresses: [{ type: odd, im_address: odd }],
      web_pages: [{ type: odd, url: odd }],
      physical_addresses: [{ type: odd, format: 'unstructured', address: odd }],
      groups: [odd],
    });
    expect(cardText(card).replaceAll('\r\n', '')).not.toContain('\r');
    const stored = parseCard(cardText(card));
    expect(stored.getAllProperties('note')).toHaveLength(1);
    expect(contactFields(readCard(stored))).toEqual(contactFields(readCard(card)));
  });

  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(120, 7)]);
  const withPhoto = (version: string, line: string) =>
    parseCard(
      CARD.replace('VERSION:3.0', `VERSION:${version}`).replace('X-FOO', `${line}\r\nX-FOO`),
    );

  it.each([
    ['3.0', `PHOTO;ENCODING=b;TYPE=JPEG:${png.toString('base64')}`],
    ['3.0', `PHOTO;VALUE=uri:data:image/svg+xml;base64,${png.toString('base64')}`],
    ['4.0', `PHOTO:data:image/png;base64,${png.toString('base64')}`],
  ])(
    'have pictures recognised by their bytes, and keep them when they change: version %s',
    (version, line) => {
      const card = withPhoto(version, line);
      expect(readPicture(card)).toEqual({ contentType: 'image/png', bytes: png });
      const tag = pictureTag(card);
      writeCard(card, { surname: 'Other' });
      const text = cardText(card);
      expect(text.replaceAll('\r\n ', '')).toContain(
        line.slice(-180).replace(/^.*?(?=base64,|:)/, ''),
      );
      expect(text.split('\r\n').every((one) => Buffer.byteLength(one) <= 76)).toBe(true);
      expect(pictureTag(parseCard(text))).toBe(tag);
    },
  );

  it.each([
    'PHOTO;VALUE=uri:https://example.test/a.png',
    'PHOTO:data:image/svg+xml;base64,PHN2Zz4=',
    'PHOTO;ENCODING=b;TYPE=PNG:PHNjcmlwdD4=',
  ])('have no picture in %s', (line) => {
    expect(readPicture(withPhoto('3.0', line))).toBeNull();
    expect(pictureTag(withPhoto('3.0', line))).toBeNull();
  });
});
