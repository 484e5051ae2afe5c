import { z } from 'zod';
import { contactEmail } from '../../accounts/applications/applications.schema.ts';
import { APPLICATION_FEATURES, PLANS } from '../../platform/auth/plan.ts';
import { holdView } from '../accounts/admin-accounts.schema.ts';
import { filterText, listOf, tokenPageQuery } from '../search/list.schema.ts';
import { APPLICATION_STATES } from './application-item.ts';

const time = (what: string) => z.number().int().describe(`${what}. Unix seconds`);

/** `GET /admin/applications`. */
export const listApplicationsQuery = z.object({
  state: z.enum(APPLICATION_STATES).optional(),
  search: filterText(200).optional().describe('A part of the name or the client id'),
  ...tokenPageQuery,
});
export type ListApplicationsQuery = z.infer<typeof listApplicationsQuery>;

/** `DELETE /admin/applications/{id}`. */
export const deleteApplicationQuery = z.object({
  confirm: z
    .string({ error: 'is required: the client id or the name of the application' })
    .max(200)
    .describe('Client id or name of the application, so that nobody deletes the wrong one'),
});
export type DeleteApplicationQuery = z.infer<typeof deleteApplicationQuery>;

/** `PUT /admin/applications/{id}/contact`. */
export const applicationContact = z
  .object({ contact_email: contactEmail() })
  .meta({ id: 'ApplicationContact', example: { contact_email: 'team@app.example.test' } });
export type ApplicationContact = z.infer<typeof applicationContact>;

const deletion = z.object({
  application_id: z.string(),
  client_id: z.string(),
  name: z.string(),
  requested_at: time('When it was requested'),
  requested_by: z.string().describe('Name of the operator who requested it'),
  accounts: z.number().int().describe('Accounts when the deletion began'),
  accounts_deleted: z.number().int().describe('Accounts that are deleted by now'),
  step: z.string().describe('What is being deleted; `done` at the end'),
  finished_at: time('When it ended').nullable(),
  last_error: z.string().nullable().describe('Why the last batch failed; it is tried again'),
});
const deletionExample = {
  application_id: '019aa1b2-0000-7000-8000-000000000002',
  client_id: '4nq5tyrz0eawtupjd2i2g9r1z',
  name: 'Front desk',
  requested_at: 1_700_000_000,
  requested_by: 'ada',
  accounts: 1_200,
  accounts_deleted: 340,
  step: 'accounts',
  finished_at: null,
  last_error: null,
};

export const applicationDeletions = z
  .object({
    items: z
      .array(deletion)
      .describe(
        'Deletions that run, and those that ended within 90 days; newest first, at most 200',
      ),
  })
  .meta({
    id: 'ApplicationDeletions',
    example: { items: [deletionExample] },
  });

const item = {
  id: z.string(),
  client_id: z.string(),
  name: z.string(),
  plan: z.enum(PLANS).describe('`quickstart` allows one connected account, `standard` any number'),
  features: z
    .array(z.enum(APPLICATION_FEATURES))
    .describe('Enabled features: `sms` for SMS reminders, `neural` for the routes under `/neural`'),
  region: z
    .string()
    .describe('Region of the integrations address that the application uses: `us` or `eu`'),
  created_at: time('When it was created'),
  accounts: z.number().int().describe('Connected accounts; at most 100,000'),
  invalid_accounts: z.number().int().describe('Of these: credentials were refused'),
  sending_paused: holdView.describe('Set while every message of its accounts waits'),
  suspended: holdView.describe('Set while its requests are refused and nothing is sent or synced'),
  deletion: deletion.nullable().describe('Set once its deletion has begun'),
};
const itemExample = {
  id: '019aa1b2-0000-7000-8000-000000000002',
  client_id: '4nq5tyrz0eawtupjd2i2g9r1z',
  name: 'Front desk',
  plan: 'standard' as const,
  features: [],
  region: 'us',
  created_at: 1_690_000_000,
  accounts: 1_200,
  invalid_accounts: 3,
  sending_paused: null,
  suspended: null,
  deletion: null,
};

export const operatorApplications = listOf(z.object(item)).meta({
  id: 'OperatorApplications',
  example: { items: [itemExample], next_page_token: null },
});

export const operatorApplication = z
  .object({
    ...item,
    contact_email: z
      .string()
      .nullable()
      .describe('Address that gets mails about failing webhooks; null: nobody gets them'),
    redirect_uris: z.array(z.string()),
    allowed_scopes: z
      .array(z.string())
      .nullable()
      .describe('Scopes that a sign-in may grant; null: all scopes'),
    token_lifetime: z.number().int().nullable().describe('Seconds; null: until they are revoked'),
    allows_token_response: z
      .boolean()
      .describe('Whether /oauth/authorize accepts `response_type=token`'),
    revokes_older_tokens: z
      .boolean()
      .describe('Whether a sign-in revokes the earlier access tokens of its account'),
    integrations: z
      .array(z.object({ provider: z.string(), name: z.string() }))
      .describe('What the application has registered at providers, by provider'),
    webhooks: z
      .object({
        active: z.number().int().describe('Webhooks in the state `active`'),
        failing: z
          .number()
          .int()
          .describe('Webhooks in the state `failing`: their deliveries fail, and are still tried'),
        failed: z.number().int().describe('Switched off, because deliveries failed for too long'),
      })
      .describe('Number of its webhooks by state'),
    paused_messages: z
      .number()
      .int()
      .describe('Messages that wait because sending is paused; at most 10,000'),
  })
  .meta({
    id: 'OperatorApplication',
    example: {
      ...itemExample,
      contact_email: 'team@app.example.test',
      redirect_uris: ['https://app.example.test/callback'],
      allowed_scopes: null,
      token_lifetime: null,
      allows_token_response: false,
      revokes_older_tokens: false,
      integrations: [{ provider: 'imap', name: 'Mail' }],
      webhooks: { active: 1, failing: 0, failed: 0 },
      paused_messages: 0,
    },
  });
