import { compose } from '../../../formats/mime/compose.ts';

export interface LoopMail {
  from: string;
  to: string;
  /** Name of the application that the mailbox was connected to. */
  application: string;
  /** Base URL of this server. */
  server: string;
  code: string;
  messageIdHeader: string;
  date: Date;
}

const SUBJECT = 'Check of your mail address';
/** Regular expression for the code in the subject of such a mail. Its one group is the code. */
export const CODE_IN_SUBJECT = '\\[([0-9a-z]{25})\\]';

/**
 * Composes the mail. It says what happened and for which application, and that the recipient need
 * not do anything.
 */
export function composeLoopMail(mail: LoopMail): Promise<Buffer> {
  const { from, to, application, server, code, messageIdHeader, date } = mail;
  const text = [
    `Somebody has connected a mailbox as ${to} to the application "${shown(application)}" (by Carillon at ${server}).`,
    'This message checks whether that mailbox receives the mail of this address.',
    'You do not have to do anything: if it arrives in the connected mailbox, the address is confirmed.',
    'If it was not you, ignore this message and do not forward it. The person who connected another mailbox cannot see your mail, and the address will not be confirmed.',
  ].join('\r\n\r\n');
  return compose({
    from: { name: 'Carillon', email: from },
    to: [{ name: '', email: to }],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: `${SUBJECT} [${code}]`,
    html: `<pre style="white-space:pre-wrap;font-family:sans-serif">${escape(text)}</pre>`,
    text,
    messageIdHeader,
    date,
    // Without these headers an out-of-office reply would return the code (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  });
}

/**
 * The application's name is untrusted input: remove line breaks and anything that could form a
 * link.
 */
const shown = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N} _'-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 60);

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
