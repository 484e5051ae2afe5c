import type { ProviderAccount } from '../port/connector.ts';
import { stableId } from './sandbox.ids.ts';
import { SANDBOX_DOMAIN } from './sandbox.magic.ts';

/** A message that a new mailbox starts with. */
export interface Sample {
  messageIdHeader: string;
  mime: Buffer;
  receivedAt: Date;
}

const HOUR_MS = 3_600_000;

interface SampleText {
  key: string;
  from: string;
  subject: string;
  hoursAgo: number;
  /** Content headers, an empty line, and the content. */
  content: string;
}

function sampleOf({ key, from, subject, hoursAgo, content }: SampleText) {
  return (account: ProviderAccount, now: Date): Sample => {
    const receivedAt = new Date(now.getTime() - hoursAgo * HOUR_MS);
    const messageIdHeader = `<${stableId(account, 'sample', key)}@${SANDBOX_DOMAIN}>`;
    const lines = [
      `From: ${from}`,
      `To: <${account.email}>`,
      `Subject: ${subject}`,
      `Date: ${receivedAt.toUTCString().replace('GMT', '+0000')}`,
      `Message-ID: ${messageIdHeader}`,
      'MIME-Version: 1.0',
      ...content.split('\n'),
    ];
    return { messageIdHeader, mime: Buffer.from(lines.join('\r\n')), receivedAt };
  };
}

const MENU = 'Monday: lentil soup\r\nTuesday: gnocchi\r\nWednesday: dumplings\r\n';

/** Three readable messages: plain text, HTML, and one with an attachment. */
export const SAMPLES: readonly ((account: ProviderAccount, now: Date) => Sample)[] = [
  sampleOf({
    key: 'welcome',
    from: `Carillon <hello@${SANDBOX_DOMAIN}>`,
    subject: 'Welcome to your sandbox mailbox',
    hoursAgo: 48,
    content: `Content-Type: text/plain; charset=utf-8

Hello!

This mailbox exists only in Carillon's own database. Send something to it,
or from it: accounts of one application deliver to each other, and nothing
ever leaves the sandbox.
`,
  }),
  sampleOf({
    key: 'invitation',
    from: `Bo Tanaka <bo@${SANDBOX_DOMAIN}>`,
    subject: 'Lunch on Thursday?',
    hoursAgo: 24,
    content: `Content-Type: text/html; charset=utf-8

<p>Hi,</p>
<p>shall we have lunch on <b>Thursday</b> at half past twelve? The usual place.</p>
<p>Bo</p>
`,
  }),
  sampleOf({
    key: 'menu',
    from: `The Canteen <canteen@${SANDBOX_DOMAIN}>`,
    subject: "This week's menu",
    hoursAgo: 1,
    content: `Content-Type: multipart/mixed; boundary="menu"

--menu
Content-Type: text/html; charset=utf-8

<p>Please find this week's menu <i>attached</i>.</p>
--menu
Content-Type: text/plain; charset=utf-8; name="menu.txt"
Content-Disposition: attachment; filename="menu.txt"
Content-Transfer-Encoding: base64

${Buffer.from(MENU).toString('base64')}
--menu--
`,
  }),
];
