import { onOneLine } from '../../platform/base/text/plain-text.ts';
import { withoutQuery } from '../../platform/webhooks/callback-address.ts';
import type { ChangedWebhook, ReportedWebhook } from '../../platform/webhooks/mails/due-mails.ts';
import { shownName } from '../operator-mail/operator-mail.ts';

/** What a mail about webhooks says. */
export interface WebhookMailContent {
  to: string;
  application: { clientId: string; name: string };
  /** All webhooks that the mail reports. */
  changed: readonly ChangedWebhook[];
  /** The webhooks that it describes: the first of `changed`. */
  described: readonly ReportedWebhook[];
  /** Base URL of this server. */
  server: string;
  /** Base URL of the console; `null` if this installation serves none. */
  console: string | null;
}

type State = ChangedWebhook['state'];

const LONGEST_ADDRESS = 300;
const LONGEST_DETAIL = 300;

const VERBS: Readonly<Record<State, string>> = {
  failed: 'was stopped',
  failing: 'fails',
  active: 'works again',
};

/** Subject and plain text of a mail about webhooks. The lines of the text end with CRLF. */
export function webhookMailText(content: WebhookMailContent): { subject: string; text: string } {
  const { to, application, changed, described, server } = content;
  const name = shownName(application.name) || application.clientId;
  const more = changed.length - described.length;
  const blocks = [
    `Webhooks of the application "${name}" have changed their state (Carillon at ${server}).`,
    ...described.map(blockOf),
    moreText(more),
    whatToDo(content),
    `You get this mail because ${to} is the contact address of the application. Carillon sends at most one such mail an hour.`,
  ];
  return {
    subject: `Carillon: ${summaryOf(changed)} (${name})`,
    text: blocks.filter(Boolean).join('\n\n').replaceAll('\n', '\r\n'),
  };
}

function moreText(more: number): string {
  if (more === 0) return '';
  return more === 1
    ? 'One more webhook has changed its state.'
    : `${more} more webhooks have changed their state.`;
}

function summaryOf(changed: readonly ChangedWebhook[]): string {
  const [first] = changed;
  if (changed.length === 1 && first) return `a webhook ${VERBS[first.state]}`;
  const count = (state: State) => changed.filter((one) => one.state === state).length;
  const parts = (
    [
      ['stopped', count('failed')],
      ['failing', count('failing')],
      ['working again', count('active')],
    ] as const
  ).filter(([, number]) => number > 0);
  return `webhooks: ${parts.map(([what, number]) => `${number} ${what}`).join(', ')}`;
}

function blockOf(webhook: ReportedWebhook): string {
  const { id, callbackUrl, attemptedAt, detail, state } = webhook;
  const address = withoutQuery(callbackUrl);
  const shown =
    address.length > LONGEST_ADDRESS ? `${address.slice(0, LONGEST_ADDRESS)}…` : address;
  const attempt =
    attemptedAt &&
    `Last failed attempt: ${utc(attemptedAt)}${detail === null ? '' : `, ${onOneLine(detail).slice(0, LONGEST_DETAIL)}`}`;
  return [`${shown} ${VERBS[state]}.`, stateText(webhook), attempt, `Webhook id: ${id}`]
    .filter(Boolean)
    .join('\n');
}

function stateText({ state, failingSince, failures: number }: ReportedWebhook): string {
  const failures = number === 1 ? '1 failure' : `${number} failures`;
  const since = failingSince ? ` since ${utc(failingSince)}` : '';
  switch (state) {
    case 'active':
      return 'Deliveries succeed again. Events that waited follow in order.';
    case 'failing':
      return `Every delivery has failed${since} (${failures}). Carillon goes on trying.`;
    case 'failed':
      return `Deliveries failed${since} (${failures}). Nothing is delivered now; events are stored.`;
  }
}

function whatToDo({ application, changed, server, console }: WebhookMailContent): string {
  const webhook = `${server}/a/${application.clientId}/webhooks/<id>`;
  const has = (state: State) => changed.some((one) => one.state === state);
  if (!has('failing') && !has('failed')) return 'You do not have to do anything.';
  const lines = [
    'What to do:',
    `- See what was tried and why it failed: GET ${webhook}/deliveries`,
    console === null
      ? ''
      : `- Operators also see what the receiver answered: ${console}/console/webhooks`,
    '- Repair the receiver.',
    has('failing')
      ? '- A failing webhook recovers by itself with its first successful delivery. After 72 hours it is stopped. An event that fails for 76 hours is dropped.'
      : '',
    has('failed')
      ? `- A stopped webhook has to be activated: PUT ${webhook} with {"state": "active"}. The events of the last 72 hours follow.`
      : '',
    `- The API is described at ${server}/docs`,
  ];
  return lines.filter(Boolean).join('\n');
}

const utc = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
