import type { TestAccount } from '../factories.ts';
import { call } from '../fault-load.ts';
import type { ReceivedRequest } from '../receiver.ts';
import type { FailoverWorld } from './failover-world.ts';

/** Participants of the event; each gets a reminder by email and one by SMS. */
const PEOPLE = 8;
const LEAD_MINUTES = 10;
const SUBJECT = 'Soon';

/** What has arrived of the reminders of one event. */
export interface ArrivedReminders {
  /** Number of recipients by how many emails they got. */
  emails: Record<number, number>;
  /** Number of phones by how many idempotency keys their texts had. */
  texts: Record<number, number>;
  /** Number of ids that the deliveries to the webhook had. */
  webhookIds: number;
}

/** Every reminder that the event should have, once. */
export const ONCE: ArrivedReminders = {
  emails: { 1: PEOPLE },
  texts: { 1: PEOPLE },
  webhookIds: 1,
};
/** Number of reminders of the event. */
export const REMINDERS = 2 * PEOPLE + 1;

/** Creates an event whose reminders of each type become due in some seconds. */
export async function createDueReminders(failover: FailoverWorld, seconds: number): Promise<void> {
  const { world } = failover;
  const account = world.accounts[0] as TestAccount;
  const ask = async (path: string, body: object) => {
    const answer = await call(failover.server(0), account, 'POST', path, { body });
    if (answer?.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer.body;
  };
  const calendar = await ask('/calendars', { name: 'Failover' });
  const before = { minutes_before_event: LEAD_MINUTES };
  await ask('/events', {
    calendar_id: calendar['id'],
    title: SUBJECT,
    when: { time: Math.ceil(Date.now() / 1000) + LEAD_MINUTES * 60 + seconds },
    participants: Array.from({ length: PEOPLE }, (_, index) => ({
      email: `guest-${index}@sink.test`,
      phone_number: `+155510${index}`,
    })),
    notifications: [
      { ...before, type: 'email', subject: SUBJECT, body: SUBJECT },
      { ...before, type: 'sms', message: SUBJECT },
      { ...before, type: 'webhook', url: `${world.receiver.origin}/reminder`, payload: SUBJECT },
    ],
  });
}

/** Returns what the mail server, the gateway and the webhook have got of the reminders. */
export async function arrivedReminders({ world }: FailoverWorld): Promise<ArrivedReminders> {
  const mails = (await world.accepted()).filter(({ subject }) => subject === SUBJECT);
  const sentTo = (path: string) => world.receiver.received.filter(({ url }) => url === path);
  const keysOf = (requests: readonly ReceivedRequest[], header: string) =>
    new Set(requests.map(({ headers }) => headers[header])).size;
  const phoneOf = ({ body }: ReceivedRequest) => (JSON.parse(body.toString()) as { to: string }).to;
  const texts = Map.groupBy(sentTo('/texts'), phoneOf);
  return {
    emails: tally(
      [...Map.groupBy(mails, ({ recipients }) => recipients[0]).values()].map((m) => m.length),
    ),
    texts: tally([...texts.values()].map((requests) => keysOf(requests, 'idempotency-key'))),
    webhookIds: keysOf(sentTo('/reminder'), 'webhook-id'),
  };
}

/** How often each number occurs. */
function tally(numbers: readonly number[]): Record<number, number> {
  const groups = Map.groupBy(numbers, (n) => n);
  return Object.fromEntries([...groups].map(([n, same]) => [n, same.length]));
}
