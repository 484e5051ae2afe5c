import { compose } from '../../formats/mime/compose.ts';

export interface LoopMail {
  from: string;
  to: string;
  /** The application the mailbox was connected to. */
  application: string;
  /** Where this server is reached. */
  server: string;
  code: string;
  messageIdHeader: string;
  date: Date;
}

const SUBJECT = 'Check of your mail address';
/** Where the code stands in the subject of such a mail, as a regular expression with one group. */
export const CODE_IN_SUBJECT = '\\[([0-9a-z]{25})\\]';

/** Composes the mail: what happened, which application, and that nobody has to do anything. */
export function composeLoopMail(mail: LoopMail): Promise<Buffer> {
  const { from, to, application, server, code, messageIdHeader, date } = mail;
  const text = [
    `Somebody has connected a mailbox as ${to} to the application "${shown(application)}" (by Carillon at ${server}).`,
    'This message checks whether that mailbox receives the mail of this address.',
    'You do not have to do anything: if it arrives in the connected mailbox, the address is confirmed.',
    'If it was not you: ignore this message, and do not forward it. Whoever connected another mailbox sees nothing of yours, and the address is not confirmed.',
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
    // Out-of-office answers would carry the code (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  });
}

/** Names are chosen by strangers: no lines of their own, no links. */
const shown = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N} _'-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 60);

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
