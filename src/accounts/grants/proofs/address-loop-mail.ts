import { shownName } from '../../operator-mail/operator-mail.ts';

export interface LoopMail {
  to: string;
  /** Name of the application that the mailbox was connected to. */
  application: string;
  /** Base URL of this server. */
  server: string;
  code: string;
}

const SUBJECT = 'Check of your mail address';
/** Regular expression for the code in the subject of such a mail. Its one group is the code. */
export const CODE_IN_SUBJECT = '\\[([0-9a-z]{25})\\]';

/**
 * Subject and text of the mail. It says what happened and for which application, and that the
 * recipient need not do anything.
 */
export function loopMail({ to, application, server, code }: LoopMail): {
  subject: string;
  text: string;
} {
  const text = [
    `Somebody has connected a mailbox as ${to} to the application "${shownName(application)}" (by Carillon at ${server}).`,
    'This message checks whether that mailbox receives the mail of this address.',
    'You do not have to do anything: if it arrives in the connected mailbox, the address is confirmed.',
    'If it was not you, ignore this message and do not forward it. The person who connected another mailbox cannot see your mail, and the address will not be confirmed.',
  ].join('\r\n\r\n');
  return { subject: `${SUBJECT} [${code}]`, text };
}
