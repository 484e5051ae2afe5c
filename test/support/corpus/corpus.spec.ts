import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { answerTo } from './answers.ts';
import { readCorpus } from './corpus.ts';
import { enlarged } from './enlarged.ts';
import { expectCalendar, expectContacts, expectMail } from './expect-answer.ts';

const mail = readCorpus('mail');
const calendars = readCorpus('calendars');
const contacts = readCorpus('contacts');
const named = <T extends { name: string }>(cases: readonly T[]) =>
  cases.map((one) => [one.name, one] as const);

describe('the corpus, read without servers', () => {
  it('has a JSON for every file, and a file for every JSON', () => {
    expect([mail, calendars, contacts].flatMap(({ problems }) => problems)).toEqual([]);
  });

  it.each(named(mail.cases))('mail/%s.eml reads as expected', (_, { bytes, expected }) => {
    expectMail(answerTo.mail(bytes), expected);
    if (expected.small_only === undefined) expect(enlarged(bytes).length).toBeGreaterThan(262_144);
  });

  it.each(named(calendars.cases))('calendars/%s.ics reads as expected', (_, { bytes, expected }) =>
    expectCalendar(answerTo.calendars(bytes), expected),
  );

  it.each(named(contacts.cases))('contacts/%s.vcf reads as expected', (_, { bytes, expected }) =>
    expectContacts(answerTo.contacts(bytes), expected),
  );
});

describe('the reader of a corpus folder', () => {
  it('names files without a JSON, JSONs without a file, other files and unknown keys', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'corpus-'));
    fs.mkdirSync(path.join(folder, 'mail'));
    const put = (name: string, text: string) =>
      fs.writeFileSync(path.join(folder, 'mail', name), text);
    const why = 'A sentence with a source, RFC 5322.';
    put('alone.eml', 'Subject: x\r\n\r\n');
    put('lost.json', JSON.stringify({ why }));
    put('notes.txt', 'x');
    for (const name of ['good', 'odd', 'broken']) put(`${name}.eml`, 'Subject: x\r\n\r\n');
    put('good.json', JSON.stringify({ why, message: { subject: 'x' } }));
    put('odd.json', JSON.stringify({ why, subject: 'x' }));
    put('broken.json', '{');
    const { cases, problems } = readCorpus('mail', folder);
    fs.rmSync(folder, { recursive: true });
    expect(cases.map(({ name }) => name)).toEqual(['good']);
    expect(problems).toEqual([
      'mail/alone.eml: alone.json is missing',
      expect.stringMatching(/^mail\/broken\.json: .*JSON/),
      'mail/lost.json: lost.eml is missing',
      'mail/notes.txt: its name must end in .eml',
      expect.stringMatching(/^mail\/odd\.json: .*Unrecognized key: "subject"/),
    ]);
  });
});
