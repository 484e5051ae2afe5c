import { z } from 'zod';
import { ACTOR_KINDS } from './actor.ts';

/** An entry of the audit log, as operators and applications read it. */
export const auditEntryView = z
  .object({
    id: z.string().describe('Id of the entry'),
    at: z.number().int().describe('When it was done, in Unix seconds'),
    actor: z
      .object({
        kind: z
          .enum(ACTOR_KINDS)
          .describe('Who acts: an operator, an application, an access token, or the system'),
        id: z
          .string()
          .nullable()
          .describe(
            'Id of the operator, the application or the access token; null for the system and for commands',
          ),
        name: z
          .string()
          .describe('Name of the operator, client id, or email address of the account'),
        address: z.string().nullable().describe('Network address of the client'),
      })
      .describe('Who did it'),
    action: z.string().describe('What was done, such as `account.delete`'),
    target: z
      .object({
        type: z.string().describe('What the id names, such as `account`'),
        id: z.string().describe('Id of what was changed'),
      })
      .describe('What was changed'),
    application_id: z.string().nullable().describe('The application that was concerned'),
    account_id: z.string().nullable().describe('The account that was concerned'),
    details: z
      .record(z.string(), z.unknown())
      .describe('What changed; never a secret or content of mail'),
  })
  .meta({
    id: 'AuditEntry',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      at: 1_795_255_200,
      actor: {
        kind: 'operator',
        id: '019aa1b2-0000-7000-8000-000000000002',
        name: 'ada',
        address: '198.51.100.7',
      },
      action: 'account.pause',
      target: { type: 'account', id: '019aa1b2-0000-7000-8000-000000000003' },
      application_id: '019aa1b2-0000-7000-8000-000000000004',
      account_id: '019aa1b2-0000-7000-8000-000000000003',
      details: { reason: 'asked by support' },
    },
  });
export type AuditEntryView = z.infer<typeof auditEntryView>;
