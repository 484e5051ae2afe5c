import { z } from 'zod';
import { WATCH_STATES } from '../../accounts/push/list-subscriptions.ts';
import { BILLING_STATES, GRANT_STATUSES, SYNC_STATES } from '../../platform/auth/grant-status.ts';
import { QUOTAS } from '../../platform/quotas/quota.ts';
import { integerLike } from '../../platform/wire/wire.schema.ts';
import { ADDRESS_PROOFS } from '../../providers/port/sign-in/address-proof.ts';
import { filterText, listOf, tokenPageQuery } from '../search/list.schema.ts';
import { ACCOUNT_HEALTHS } from './account-health.ts';
import { LONGEST_SIGN_IN_LINK_SECONDS, SIGN_IN_LINK_SECONDS } from './sign-in-links.service.ts';

const time = (what: string) => z.number().int().describe(`${what}. Unix seconds`);

/** `GET /admin/accounts`. */
export const listAccountsQuery = z.object({
  application: filterText(100).optional().describe('Id or client id of the application'),
  provider: filterText(100)
    .optional()
    .describe(
      'Name of the provider, such as `imap`, or the one that account objects show, such as `gmail`',
    ),
  server: filterText(300)
    .optional()
    .describe(
      'Accounts whose last sync pass failed at this server, such as `mail.example.com:993 (IMAP)`',
    ),
  health: z
    .enum(ACCOUNT_HEALTHS)
    .optional()
    .describe(
      'Only accounts that have this problem; `health` and `reason` are then about it, whatever else is wrong',
    ),
  address: filterText(400).optional().describe('A part of the email address'),
  ...tokenPageQuery,
});
export type ListAccountsQuery = z.infer<typeof listAccountsQuery>;

/** Body of the actions that pause, suspend and resume. */
export const holdSchema = z
  .object({
    reason: z
      .string()
      .trim()
      .min(1)
      .max(300)
      .nullish()
      .describe('Your words. Users see them in the state of their messages and in errors'),
  })
  .meta({ id: 'Hold', example: { reason: 'the provider asked us to stop' } });
export type HoldBody = z.infer<typeof holdSchema>;

export const signInLinkSchema = z
  .object({
    expires_in: integerLike({ min: 60, max: LONGEST_SIGN_IN_LINK_SECONDS })
      .default(SIGN_IN_LINK_SECONDS)
      .describe('Lifetime of the link in seconds'),
  })
  .meta({ id: 'CreateSignInLink', example: { expires_in: 1_800 } });
export type SignInLinkBody = z.infer<typeof signInLinkSchema>;

export const holdView = z
  .object({
    since: time('Since when'),
    reason: z.string().nullable().describe("The operator's words"),
  })
  .nullable();

const health = z
  .enum(ACCOUNT_HEALTHS)
  .describe('The worst thing that is wrong; the values are in the order of the list');
const reason = z.string().nullable().describe("In the provider's words where there are any");

const item = {
  id: z.string(),
  email: z.string(),
  provider: z.string(),
  application_id: z.string(),
  application_name: z.string(),
  client_id: z.string(),
  health,
  reason,
  sync_state: z.enum(SYNC_STATES).describe('State of the mirror; `running` is the healthy one'),
  current_since: time('When the mirror first caught up')
    .nullable()
    .describe('When the mirror first caught up with the mailbox; null while it reads the history'),
  sync_lag_seconds: z.number().describe('How long the sync pass has been due; 0 if none is due'),
  sending_paused: holdView.describe("The account's own pause; null if there is none"),
  connected_at: time('When it was first connected'),
};

const itemExample = {
  id: '019aa1b2-0000-7000-8000-000000000001',
  email: 'ada@example.test',
  provider: 'imap',
  application_id: '019aa1b2-0000-7000-8000-000000000002',
  application_name: 'Front desk',
  client_id: '4nq5tyrz0eawtupjd2i2g9r1z',
  health: 'invalid-credentials' as const,
  reason: '535 5.7.8 Authentication failed',
  sync_state: 'invalid' as const,
  current_since: 1_700_000_000,
  sync_lag_seconds: 0,
  sending_paused: null,
  connected_at: 1_690_000_000,
};

export const operatorAccounts = listOf(z.object(item)).meta({
  id: 'OperatorAccounts',
  example: { items: [itemExample], next_page_token: null },
});

const sync = z.object({
  state: z.enum(SYNC_STATES),
  reason,
  current_since: time('When the mirror first caught up').nullable(),
  contents_left: z
    .number()
    .int()
    .describe('Messages that are listed and whose content is not read yet; at most 10,000'),
  next_pass_at: time('When the next pass is due').nullable(),
  running: z.boolean().describe('Whether a worker is running a pass now'),
  lag_seconds: z
    .number()
    .describe('How long the sync pass has been due, in seconds; 0 if none is due'),
  failures: z.number().int().describe('Failures since the mailbox was last stable'),
  crashes: z.number().int().describe('Workers that died during a pass'),
  unreadable_messages: z.number().int().describe('At most 10,000'),
});

const audit = z
  .object({
    checked_at: time('When the last audit of the whole mailbox was complete').nullable(),
    messages_checked: z
      .number()
      .int()
      .describe('Messages that the last audit of the whole mailbox compared'),
    differences_found: z
      .number()
      .int()
      .describe('Differences that this audit and the audits of recent messages since then found'),
    repaired: z.number().int(),
    unrepaired: z.number().int().describe('Differences that the last audit could not repair'),
    failed: z.number().int().describe('Audits in a row that could not repair every difference'),
  })
  .nullable();

const watch = z.object({
  state: z.enum(WATCH_STATES),
  kind: z
    .enum(['subscription', 'pull', 'watch'])
    .describe('How changes are reported to this server'),
  provider: z.string(),
  account_id: z.string().nullable(),
  name: z.string(),
  resource: z
    .string()
    .describe('What is watched: `mail`, `calendars`, `calendar:<id>`, or `contacts`'),
  expires_at: time('When it ends by itself').nullable(),
  notified_at: time('Last notification').nullable(),
  failures: z.number().int().describe('Failures since the watch was last stable'),
  error: z.string().nullable(),
});

export const operatorAccount = z
  .object({
    ...item,
    name: z.string(),
    grant_status: z.enum(GRANT_STATUSES).describe('`invalid`: the user has to sign in again'),
    billing_state: z.enum(BILLING_STATES),
    by_oauth: z.boolean().describe('Whether it signed in by OAuth'),
    proof: z
      .enum(ADDRESS_PROOFS)
      .nullable()
      .describe('Proof that the mailbox belongs to the address; null if there is none'),
    linked_at: time('Last authentication'),
    problems: z.array(z.object({ health, reason })).describe('All that is wrong, worst first'),
    application_sending_paused: holdView.describe(
      "Pause of the application's sending; null if there is none",
    ),
    application_suspended: holdView.describe(
      'Suspension of the application; null if there is none',
    ),
    sync: sync.describe('State of the mirror of the mailbox'),
    audit: audit.describe(
      'Results of the audits, which compare mirror and mailbox; null before the first one is planned',
    ),
    gate: z
      .object({
        open_until: time('No message is sent until then').nullable(),
        reason: z.string().nullable(),
        failures: z.number().int().describe('Consecutive troubles with its server'),
      })
      .describe('The circuit breaker of its messages'),
    messages: z
      .object({
        open: z.number().int().describe('Accepted and not ended; at most 10,000'),
        paused: z.number().int().describe('Of these: waiting because sending is paused'),
        first_deadline: time('First deadline of these messages').nullable(),
      })
      .describe('Messages that wait to be sent'),
    watches: z
      .array(watch)
      .describe(
        'Watches and subscriptions that report changes of the account, failing ones first; at most 200',
      ),
    quotas: z
      .array(
        z.object({
          quota: z
            .enum(QUOTAS)
            .describe('What is counted: text messages (`sms`), `reminders`, or online `meetings`'),
          used: z.number().int().describe('Today (UTC)'),
          reached_at: time('When the limit was reached').nullable(),
        }),
      )
      .describe('Quotas that the account has used today (UTC)'),
    errors: z
      .array(
        z.object({
          at: time('When').nullable(),
          what: z
            .enum(['credentials', 'sync', 'send', 'subscription', 'unreadable message'])
            .describe('What failed'),
          text: z.string().describe('The error in the words of the server'),
        }),
      )
      .describe('The last error of each kind'),
  })
  .meta({
    id: 'OperatorAccount',
    example: {
      ...itemExample,
      name: 'Ada',
      grant_status: 'invalid',
      billing_state: 'paid',
      by_oauth: false,
      proof: 'preset',
      linked_at: 1_690_000_000,
      problems: [{ health: 'invalid-credentials', reason: '535 5.7.8 Authentication failed' }],
      application_sending_paused: null,
      application_suspended: null,
      sync: {
        state: 'invalid',
        reason: '535 5.7.8 Authentication failed',
        current_since: 1_700_000_000,
        contents_left: 0,
        next_pass_at: 1_700_003_600,
        running: false,
        lag_seconds: 0,
        failures: 1,
        crashes: 0,
        unreadable_messages: 0,
      },
      audit: null,
      gate: { open_until: null, reason: null, failures: 0 },
      messages: { open: 2, paused: 0, first_deadline: 1_700_086_400 },
      watches: [],
      quotas: [],
      errors: [{ at: 1_700_000_000, what: 'credentials', text: '535 5.7.8 Authentication failed' }],
    },
  });

export const signInLinkView = z
  .object({
    account_id: z.string(),
    email: z.string(),
    url: z.string().describe('Send it to the user only'),
    expires_at: time('When the link ends'),
  })
  .meta({
    id: 'SignInLink',
    example: {
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      email: 'ada@example.test',
      url: 'https://mail.example.test/sign-in/…',
      expires_at: 1_700_001_800,
    },
  });
