import type { CategorizeInput, Category } from '../../src/mail/neural/text/categorize.ts';

/** A composed message with a person's judgement of its category. */
export interface MailSample {
  category: Category;
  /** The most important kind, or absent for none. */
  kind?: string;
  from: string;
  subject: string;
  text: string;
  headers?: string;
  /** Links and images of the layout around the text. */
  layout?: { links: number; images: number };
  inReplyTo?: boolean;
}

const LIST = 'List-Unsubscribe: <https://lists.example/u/1>\r\nPrecedence: bulk';
const AUTO = 'Auto-Submitted: auto-generated';

/** The samples with which the rules were developed. */
export const DEVELOPMENT: readonly MailSample[] = [
  { category: 'conversation', from: 'bo@acme.example', subject: 'Lunch on Thursday?', text: 'Hi Ada, shall we have lunch on Thursday?' },
  { category: 'conversation', kind: 'reply', inReplyTo: true, from: 'bo@acme.example', subject: 'Re: Offer', text: 'Looks good to me, I will sign it today.' },
  { category: 'conversation', from: 'cleo@home.example', subject: 'photos', text: 'Dear Ada, here are the photos of the weekend. The kids loved it!' },
  { category: 'conversation', from: 'support@tool.example', subject: 'Re: [#4711] Cannot sign in', inReplyTo: true, kind: 'reply', text: 'Hello Ada, could you tell me which browser you use? Kind regards, Max' },
  { category: 'conversation', from: 'hr@firm.example', subject: 'Your application', text: 'Dear Ms Byron, thank you for your application. Would you have time for a call on Monday?' },
  { category: 'conversation', kind: 'automatic-reply', from: 'dan@firm.example', subject: 'Automatic reply: Offer', headers: 'Auto-Submitted: auto-replied', text: 'I am out of the office until Monday.' },
  { category: 'conversation', kind: 'mailing-list', inReplyTo: true, from: 'dev@people.example', subject: 'Re: [users] Patch for the parser', headers: 'List-Id: <users.project.example>\r\nList-Post: <mailto:users@project.example>\r\nList-Unsubscribe: <mailto:leave@project.example>\r\nPrecedence: list', text: 'I think the second variant is better. What do you think?' },
  { category: 'conversation', from: 'eva@school.example', subject: 'Invoice question', text: 'Hi, we got your invoice twice. Can you check that please?' },
  { category: 'conversation', from: 'info@joiner.example', subject: 'Kitchen', text: 'Dear Mrs Byron, I have measured everything and will send you the offer this week. Yours, Tom' },
  { category: 'conversation', from: 'fred@club.example', subject: 'Training', text: 'Hi all, no training this week, the hall is closed. See you next Tuesday!' },
  { category: 'feed', kind: 'newsletter', from: 'newsletter@paper.example', subject: 'The week in numbers', headers: LIST, text: 'Top stories of the week. Unsubscribe', layout: { links: 20, images: 6 } },
  { category: 'feed', kind: 'promotion', from: 'deals@shop.example', subject: '30% off everything this weekend', headers: LIST, text: 'Shop now. You are receiving this because you bought from us.', layout: { links: 15, images: 9 } },
  { category: 'feed', kind: 'receipt', from: 'orders@shop.example', subject: 'Your order #1234 has shipped', headers: AUTO, text: 'Hello Ada, your parcel is on its way. Tracking number 99.', layout: { links: 6, images: 3 } },
  { category: 'feed', kind: 'notification', from: 'notifications@code.example', subject: '[app] Build failed', headers: 'List-Id: <app.code.example>', text: 'The build of main failed.', layout: { links: 3, images: 1 } },
  { category: 'feed', kind: 'security', from: 'no-reply@bank.example', subject: 'Your verification code', text: 'Your code is 123456. Do not share it.' },
  { category: 'feed', kind: 'social', from: 'notify@people.example', subject: 'Bo mentioned you in a post', headers: LIST, text: 'See what Bo wrote.', layout: { links: 8, images: 4 } },
  { category: 'feed', kind: 'bounce', from: 'MAILER-DAEMON@mail.example', subject: 'Undelivered Mail Returned to Sender', headers: 'Auto-Submitted: auto-replied', text: 'The mail system could not deliver your message.' },
  { category: 'feed', kind: 'newsletter', from: 'hello@maker.example', subject: 'Maker digest, issue 12', headers: 'X-MC-User: 1', text: 'Hi there, this is what happened. Manage your preferences', layout: { links: 12, images: 5 } },
  { category: 'feed', kind: 'calendar', from: 'calendar-notification@cal.example', subject: 'Event reminder: Team meeting', headers: AUTO, text: 'Team meeting at 10:00.' },
  { category: 'feed', kind: 'receipt', from: 'billing@host.example', subject: 'Invoice 2024-11', text: 'Your invoice is attached. This is an automatic message.', layout: { links: 3, images: 1 } },
]; // oxfmt-ignore

/**
 * Samples written before the rules were measured with them, and never consulted while the rules
 * were changed.
 */
export const HELD_OUT: readonly MailSample[] = [
  { category: 'conversation', from: 'gina@plans.example', subject: 'Minutes of yesterday', text: 'Hello everybody, the minutes are attached. Please tell me if something is missing. Best, Gina' },
  { category: 'conversation', kind: 'reply', inReplyTo: true, from: 'hans@bau.example', subject: 'AW: Termin', text: 'Guten Tag, Dienstag um zehn passt mir. Grüße, Hans' },
  { category: 'conversation', from: 'ivy@mail.example', subject: 'hey', text: 'are you still up for the cinema tonight' },
  { category: 'conversation', from: 'team@startup.example', subject: 'Intro call', text: 'Hi Ada, I am the founder of a small company and saw your talk. Would you have 15 minutes next week?' },
  { category: 'conversation', from: 'jo@family.example', subject: 'Fwd: Tickets', text: 'See below, I have booked them. Row 5!' },
  { category: 'conversation', from: 'kim@agency.example', subject: 'Contract and invoice', text: 'Dear Ada, I attach the contract and the first invoice. Let me know whether the address is right.' },
  { category: 'conversation', from: 'sales@parts.example', subject: 'Offer for 200 valves', text: 'Dear Ms Byron, as discussed on the phone I offer 200 valves at 3.20 each. I will call you on Friday.' },
  { category: 'conversation', kind: 'automatic-reply', from: 'lea@firm.example', subject: 'Out of office', text: 'I will be back on the 3rd.' },
  { category: 'conversation', from: 'service@garage.example', subject: 'Your car', text: 'Hello Mrs Byron, your car is ready, you can collect it until six. Regards, Paul' },
  { category: 'conversation', from: 'accounts@partner.example', subject: 'Payment received?', text: 'Hi Ada, did you get our payment of last week? Our bank says it was sent.' },
  { category: 'conversation', from: 'nina@uni.example', subject: 'Newsletter draft', text: 'Hi Ada, here is the draft of the newsletter. Can you read it until tomorrow?' },
  { category: 'conversation', from: 'otto@verein.example', subject: 'Sommerfest', text: 'Liebe Ada, bringst du wieder den Salat mit? Liebe Grüße, Otto' },
  { category: 'feed', kind: 'promotion', from: 'hello@fashion.example', subject: 'Last chance: free shipping', headers: LIST, text: 'Ends at midnight.', layout: { links: 14, images: 12 } },
  { category: 'feed', kind: 'newsletter', from: 'editor@science.example', subject: 'Weekly round-up', headers: LIST, text: 'Dear reader, five studies of the week.', layout: { links: 18, images: 5 } },
  { category: 'feed', kind: 'security', from: 'account-security@mail.example', subject: 'New sign-in from Linux', text: 'Was this you? If not, secure your account.', layout: { links: 3, images: 2 } },
  { category: 'feed', kind: 'receipt', from: 'no-reply@rail.example', subject: 'Booking confirmation 8X2K', text: 'Thank you for your booking. Your ticket is attached.', layout: { links: 4, images: 3 } },
  { category: 'feed', kind: 'notification', from: 'jira@firm.example', subject: '[PROJ-12] has been assigned to you', headers: AUTO, text: 'Cleo assigned PROJ-12 to you.', layout: { links: 5, images: 2 } },
  { category: 'feed', kind: 'social', from: 'invitations@network.example', subject: 'Dan wants to connect', text: 'Accept the invitation. Unsubscribe', layout: { links: 7, images: 4 } },
  { category: 'feed', kind: 'notification', from: 'monitor@ops.example', subject: 'Alert: disk is 90% full', text: 'host db1, /var 90%' },
  { category: 'feed', kind: 'calendar', from: 'invites@cal.example', subject: 'Invitation: Board meeting', headers: AUTO, text: 'You have been invited.' },
  { category: 'feed', kind: 'promotion', from: 'anna@coach.example', subject: 'My new course is 50% off', headers: 'List-Unsubscribe: <mailto:u@coach.example>', text: 'Hi Ada, I have made something for you. Buy one, get one.', layout: { links: 5, images: 2 } },
  { category: 'feed', kind: 'receipt', from: 'rechnung@strom.example', subject: 'Ihre Rechnung', text: 'Guten Tag, Ihre Rechnung steht bereit.', layout: { links: 4, images: 3 } },
  { category: 'feed', kind: 'newsletter', from: 'post@stadt.example', subject: 'Stadtbrief November', text: 'Was im November los ist. Abmelden', layout: { links: 9, images: 4 } },
  { category: 'feed', kind: 'notification', from: 'backup@nas.example', subject: 'Backup completed', text: 'All 12 volumes.' },
]; // oxfmt-ignore

/** The input that the service makes of such a message. */
export function inputOf(sample: MailSample): CategorizeInput {
  const { links, images } = sample.layout ?? { links: 0, images: 0 };
  const layout =
    '<a href="https://x.example"> </a>'.repeat(links) +
    '<img src="https://x.example/i">'.repeat(images);
  return {
    subject: sample.subject,
    body: `<p>${sample.text}</p>${layout}`,
    headers: `From: <${sample.from}>\r\n${sample.headers ?? ''}\r\n`,
    from: [{ name: '', email: sample.from }],
    to: [{ name: 'Ada Byron', email: 'ada@home.example' }],
    inReplyTo: sample.inReplyTo ? '<1@home.example>' : null,
  };
}
