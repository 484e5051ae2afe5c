import { z } from 'zod';
import { ACTOR_KINDS } from '../../platform/audit/actor.ts';
import { auditEntryView } from '../../platform/audit/audit.schema.ts';
import { MOST_PAGE_ITEMS } from '../../platform/database/page-token.ts';
import { inOrder, integerLike, queryText, filterTime } from '../../platform/wire/wire.schema.ts';

export const listAuditSchema = inOrder(
  z.object({
    action: queryText()
      .optional()
      .describe('An action such as `account.pause`, or all of a subject: `account.`'),
    target: queryText().optional().describe('Id of what was changed'),
    actor: queryText().optional().describe('Id or name of who did it'),
    actor_kind: z.enum(ACTOR_KINDS).optional().describe('Kind of who did it'),
    application: z.uuid().optional().describe('Id of an application'),
    account: z.uuid().optional().describe('Id of an account'),
    since: filterTime().optional().describe('Only entries from this time on'),
    until: filterTime().optional().describe('Only entries before this time'),
    limit: integerLike({ min: 1, max: MOST_PAGE_ITEMS })
      .optional()
      .describe('Page size, 1 to 200; default 50'),
    page_token: z.string().optional().describe('`next_page_token` of the page before'),
  }),
  ['since', 'until'],
);
export type ListAudit = z.infer<typeof listAuditSchema>;

export const auditPageView = z
  .object({
    items: z.array(auditEntryView).describe('Entries, newest first'),
    next_page_token: z.string().nullable().describe('Null on the last page'),
  })
  .meta({ id: 'AuditPage' });
export type AuditPageView = z.infer<typeof auditPageView>;
