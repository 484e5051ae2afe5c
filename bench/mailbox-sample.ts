import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { Dovecot } from '../test/support/mail-servers/dovecot.ts';

const ATTACHMENT_BYTES = 50_000;
/** One of this many messages has an attachment. */
const ATTACHMENT_EVERY = 4;
/** Messages per conversation. */
const CONVERSATION = 3;
/** Date of the first message, in seconds since 1970. One message follows each minute. */
const FIRST_AT = 1_750_000_000;

const SENTENCE = 'The figures of last month are in, and they are better than anybody had expected.';

function idOf(number: number): string {
  return `<${number}.${FIRST_AT}@elsewhere.test>`;
}

/**
 * A typical message with text and HTML, about 4 kB. Every fourth has an attachment of 50 kB. Three
 * in a row make a conversation.
 * @param number counted from 0
 */
export function mailboxMessage(number: number): Buffer {
  const first = number - (number % CONVERSATION);
  const parents = Array.from({ length: number - first }, (_, index) => idOf(first + index));
  const at = new Date((FIRST_AT + number * 60) * 1000).toUTCString().replace('GMT', '+0000');
  const alternative = [
    'Content-Type: multipart/alternative; boundary="texts"',
    '',
    '--texts',
    'Content-Type: text/plain; charset=utf-8',
    '',
    ...Array.from({ length: 12 }, () => SENTENCE),
    '--texts',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    ...Array.from(
      { length: 24 },
      () => `<p style=3D"margin:0">${SENTENCE.slice(0, 40)}=\r\n${SENTENCE.slice(40)}</p>`,
    ),
    '--texts--',
  ];
  const body = number % ATTACHMENT_EVERY === 0 ? withAttachment(alternative) : alternative;
  return Buffer.from(
    [
      `Received: from mx.elsewhere.test by mx.example.test; ${at}`,
      `From: Somebody ${number % 50} <somebody-${number % 50}@elsewhere.test>`,
      'To: Ada <ada@example.test>, Bo <bo@example.test>',
      `Subject: ${parents.length > 0 ? 'Re: ' : ''}The figures of month ${first}`,
      `Message-ID: ${idOf(number)}`,
      ...(parents.length > 0
        ? [`In-Reply-To: ${parents.at(-1) ?? ''}`, `References: ${parents.join(' ')}`]
        : []),
      `Date: ${at}`,
      'MIME-Version: 1.0',
      ...body,
      '',
    ].join('\r\n'),
  );
}

function withAttachment(alternative: readonly string[]): string[] {
  const bytes = randomBytes(ATTACHMENT_BYTES).toString('base64');
  return [
    'Content-Type: multipart/mixed; boundary="all"',
    '',
    '--all',
    ...alternative,
    '--all',
    'Content-Type: application/pdf; name="figures.pdf"',
    'Content-Disposition: attachment; filename="figures.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    ...(bytes.match(/.{1,76}/g) ?? []),
    '--all--',
  ];
}

/**
 * Writes messages as files into a user's inbox, in Dovecot's own format. The inbox must have been
 * opened before.
 */
export async function fillInbox(dovecot: Dovecot, email: string, count: number): Promise<void> {
  const [local = ''] = email.split('@');
  const folder = path.join(dovecot.folder, 'mail', local, 'Maildir', 'cur');
  const { uid, gid } = await fs.stat(folder);
  for (let number = 0; number < count; number += 1) {
    const mime = mailboxMessage(number);
    const at = FIRST_AT + number * 60;
    const file = path.join(
      folder,
      `${at}.M${number}P1.bench,S=${mime.length},W=${mime.length}:2,S`,
    );
    await fs.writeFile(file, mime);
    await fs.utimes(file, at, at);
    await fs.chown(file, uid, gid);
  }
}
