import { z } from 'zod';
import { auditEntryView } from '../../platform/audit/audit.schema.ts';
import { pageQuery } from '../../platform/wire/pagination.schema.ts';
import { inOrder, queryText, filterTime } from '../../platform/wire/wire.schema.ts';

export const auditLogQuery = inOrder(
  z.object({
    ...pageQuery,
    action: queryText()
      .optional()
      .describe('An action such as `token.create`, or all of a subject: `token.`'),
    account_id: z.uuid().optional().describe('Only entries about this account'),
    since: filterTime().optional().describe('Only entries from this time on'),
    until: filterTime().optional().describe('Only entries before this time'),
  }),
  ['since', 'until'],
);
export type AuditLogQuery = z.infer<typeof auditLogQuery>;

export const auditLogView = z.array(auditEntryView).meta({ id: 'AuditLog' });
