import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { CORPUS } from './corpus.ts';

const RUNNER = path.resolve(CORPUS, '../../scripts/run.mjs');
const run = (args: readonly string[], input: Buffer | string = '') => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUNNER, 'corpus', ...args], {
    input,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};
const fileOf = (name: string) => path.join(CORPUS, name);

describe('npm run corpus', () => {
  const folders: string[] = [];
  const made = () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'corpus-'));
    folders.push(folder);
    return folder;
  };
  afterEach(() => folders.splice(0).forEach((one) => fs.rmSync(one, { recursive: true })));

  it('prints what the API answers about files of each kind', () => {
    const files = [
      'mail/format-flowed.eml',
      'calendars/zone-of-notes.ics',
      'contacts/photo-in-version-3.vcf',
    ].map(fileOf);
    const { status, stdout, stderr } = run(files);
    expect([status, stderr]).toEqual([0, '']);
    expect(Object.values(JSON.parse(stdout) as object)).toMatchObject([
      { text: expect.stringContaining('No, it is true'), files: [] },
      { instances: ['2027-07-05T08:00Z/2027-07-05T09:00Z'] },
      { contacts: [{ given_name: 'Ada', picture: 'image/png' }] },
    ]);
  });

  it('reads standard input, and shows the calendar objects of a message', () => {
    const calendar = fs.readFileSync(fileOf('calendars/zone-of-notes.ics'));
    const message = Buffer.concat([
      Buffer.from('Subject: Invitation\r\nContent-Type: text/calendar\r\n\r\n'),
      calendar,
    ]);
    const { stdout } = run(['-'], message);
    expect(JSON.parse(stdout)).toMatchObject({
      message: { subject: 'Invitation' },
      calendars: [{ instances: ['2027-07-05T08:00Z/2027-07-05T09:00Z'] }],
    });
  });

  it.each([
    ['no file', [], 'Name at least one file'],
    ['a file that does not exist', ['absent.eml'], 'absent.eml: cannot be read'],
    ['a folder', [CORPUS], 'cannot be read'],
    ['a file of another kind', [RUNNER], 'must be a message (.eml)'],
    ['an empty file', ['-'], '-: the file is empty'],
    ['an unknown option', ['--anonymize', 'a.eml'], 'Usage:'],
    ['a file outside of the corpus to write', ['--write', RUNNER], 'must be corpus/mail/'],
  ])('fails with a reason for %s', (_, args, reason) => {
    const { status, stdout, stderr } = run(args);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(reason);
  });

  it('writes the JSON of a new case once, for a person to correct', () => {
    // Not in the corpus itself, which other tests read at the same time.
    const folder = path.join(made(), 'corpus/mail');
    fs.mkdirSync(folder, { recursive: true });
    const [file, json] = [path.join(folder, 'new.eml'), path.join(folder, 'new.json')];
    fs.writeFileSync(file, 'Subject: New\r\n\r\nHello\r\n');
    expect(run(['--write', file])).toMatchObject({ status: 0, stdout: `wrote ${json}\n` });
    expect(JSON.parse(fs.readFileSync(json, 'utf8'))).toMatchObject({
      why: '',
      message: { subject: 'New', warnings: [] },
      text: 'Hello',
      files: [],
    });
    const again = run(['--write', file]);
    expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('exists already')]);
  });
});
