import { z } from 'zod';
import { pageQuery } from '../../platform/wire/pagination.schema.ts';
import { JOB_STATES } from '../../job-statuses/job-status.ts';
import { INVITATION_KINDS } from './invitation-plan.ts';

/** Query of GET /events/{id}/invitations. */
export const listInvitationsQuery = z.object(pageQuery);

/** The message to one participant about one change, with its status. */
export const invitationView = z
  .object({
    object: z.literal('invitation'),
    email: z.string(),
    name: z.string(),
    kind: z.enum(INVITATION_KINDS),
    method: z.string().describe('METHOD of the calendar file: REQUEST or CANCEL'),
    sequence: z.number().int().describe('SEQUENCE of the event in this message'),
    status: z
      .enum(JOB_STATES)
      .describe(
        'Same values as for job statuses. pending: the change is not yet at the provider, or the mail is about to be sent',
      ),
    reason: z.string().nullable().describe('Reason if delayed, failed or cancelled'),
    job_status_id: z
      .string()
      .describe(
        'Job status of the mail, with its timeline. Before the mail exists: job status of the step that makes it',
      ),
    created_at: z.number().int(),
  })
  .meta({ id: 'Invitation' });
export type InvitationView = z.infer<typeof invitationView>;
