import { z } from 'zod';
import { mirrorExample, mirrorView } from '../../accounts/account-management/accounts.schema.ts';
import { WEBHOOK_STATES } from '../../platform/webhooks/webhook-state.ts';
import { LOGGED_OBJECTS } from './logged-changes.ts';
import { MOST_DAYS } from '../audit/audit-days.ts';
import { REASONS } from './completeness-policy.ts';

/** `GET /a/{client_id}/accounts/{id}/completeness`. */
export const completenessQuery = z.object({
  days: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_DAYS)
    .default(MOST_DAYS)
    .describe(`How many days (UTC), today included; default ${MOST_DAYS}`),
});
export type CompletenessQuery = z.infer<typeof completenessQuery>;

const count = (what: string) => z.number().int().describe(what);
const ids = (what: string) => z.array(z.string()).describe(`Up to 100 ids: ${what}`);
const reasons = (what: string) =>
  z.array(z.enum(REASONS)).describe(`${what}; empty if it is complete (docs/completeness.md)`);

const messages = z
  .object({
    audited_at: z
      .number()
      .int()
      .nullable()
      .describe('When the last audit of this day began; null: the day was never audited'),
    provider: z
      .number()
      .int()
      .nullable()
      .describe('Messages of the day that the provider listed in that audit; null without one'),
    mirror: count('Messages of the day that are stored here now and known to the provider'),
    since_audit: count(
      'Of these, messages that came after the audit, so the provider is not asked',
    ),
    missing: count('Messages that were listed in the audit and are lost here'),
    missing_ids: ids('missing messages'),
    surplus: count('Messages that are stored here and that the provider did not list'),
    surplus_ids: ids('surplus messages'),
    expected_events: z
      .number()
      .int()
      .nullable()
      .describe(
        'Messages that need an event `message.created`; null: no webhook wants it of each message',
      ),
    without_event: count('Of these, messages of which no event is stored'),
    without_event_ids: ids('messages without an event'),
  })
  .describe('Messages received on this day, with drafts');

const change = z.object({
  object: z.enum(LOGGED_OBJECTS).describe('Kind of the objects, named as in deltas'),
  created: count('Objects that were created, by the change log'),
  updated: count('Changes of objects'),
  deleted: count('Objects that were deleted'),
  missing: count(
    'Objects that were last created or changed on this day and are lost here: nobody deleted them',
  ),
  missing_ids: ids('missing objects'),
});

const delivery = z.object({
  webhook_id: z.string().describe('Id of the webhook'),
  callback_url: z.string().nullable(),
  state: z.enum(WEBHOOK_STATES),
  object: z
    .string()
    .describe(
      'First part of the triggers: `message` counts `message.created`, `message.updated` …',
    ),
  expected: count(
    'Events that the webhook has to get, by its triggers and filters: the sum of handed_over, waiting and missing',
  ),
  handed_over: count('Of these, confirmed by the receiver'),
  waiting: count('Queued, or kept until the failed webhook is activated'),
  missing: count('The sum of dropped, without_event and unaccounted'),
  dropped: count('Given up'),
  without_event: count('The change log names the event, and it is not stored'),
  unaccounted: count('Stored, but neither delivered nor queued nor dropped'),
  missing_event_ids: ids('missing events'),
});

const collection = z
  .object({
    object: z.enum(['event', 'contact']),
    calendar_id: z.string().nullable().describe('null: the address book'),
    complete: z.boolean().describe('Whether it is proven to be complete'),
    reasons: reasons('Why it is not complete'),
    audited_at: z
      .number()
      .int()
      .nullable()
      .describe('When the last audit of it began; null: none in the last 14 days'),
    provider: z
      .number()
      .int()
      .nullable()
      .describe('Objects that the provider listed in that audit; null without one'),
    unstored: count('Of these, objects that could not be stored here'),
    mirror: count('Objects that are stored here now and known to the provider'),
    since_audit: count('Of these, unlisted objects that came or changed after the audit'),
    missing: count('Objects that were listed in the audit and are lost here'),
    missing_ids: ids('missing objects'),
    surplus: count('Objects that are stored here and that the provider did not list'),
    surplus_ids: ids('surplus objects'),
  })
  .describe('A calendar at the provider, or the address book');

/** The proof of an account. */
export const completenessView = z
  .object({
    account_id: z.string(),
    complete: z
      .boolean()
      .describe('Whether everything below is proven to be complete. What is unknown is not'),
    reasons: reasons('Why the account is not complete'),
    audit: mirrorView,
    days: z
      .array(
        z.object({
          day: z.string().describe('Day in UTC'),
          complete: z.boolean().describe('Whether the day is proven to be complete'),
          reasons: reasons('Why the day is not complete'),
          messages,
          changes: z.array(change).describe('What changed on this day, by kind of object'),
          deliveries: z
            .array(delivery)
            .describe('Results of the deliveries of the events of this day, by webhook and object'),
        }),
      )
      .describe('Oldest first'),
    collections: z.array(collection).describe('Calendars, then the address book'),
  })
  .meta({
    id: 'Completeness',
    example: {
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      complete: false,
      reasons: ['waiting'],
      audit: mirrorExample,
      days: [
        {
          day: '2026-11-28',
          complete: false,
          reasons: ['waiting'],
          messages: {
            audited_at: 1_795_860_000,
            provider: 412,
            mirror: 415,
            since_audit: 3,
            missing: 0,
            missing_ids: [],
            surplus: 0,
            surplus_ids: [],
            expected_events: 409,
            without_event: 0,
            without_event_ids: [],
          },
          changes: [
            {
              object: 'message',
              created: 409,
              updated: 230,
              deleted: 12,
              missing: 0,
              missing_ids: [],
            },
          ],
          deliveries: [
            {
              webhook_id: '019aa1b2-0000-7000-8000-000000000002',
              callback_url: 'https://app.example.com/hooks/mail',
              state: 'failing',
              object: 'message',
              expected: 409,
              handed_over: 400,
              waiting: 9,
              missing: 0,
              dropped: 0,
              without_event: 0,
              unaccounted: 0,
              missing_event_ids: [],
            },
          ],
        },
      ],
      collections: [
        {
          object: 'event',
          calendar_id: '019aa1b2-0000-7000-8000-000000000003',
          complete: true,
          reasons: [],
          audited_at: 1_795_800_000,
          provider: 500,
          unstored: 0,
          mirror: 501,
          since_audit: 1,
          missing: 0,
          missing_ids: [],
          surplus: 0,
          surplus_ids: [],
        },
      ],
    },
  });
export type CompletenessView = z.infer<typeof completenessView>;
