import { z } from 'zod';
import { pageQuery } from '../../platform/wire/pagination.schema.ts';
import { JOB_STATES } from '../../platform/job-statuses/job-status.ts';
import { INVITATION_KINDS } from './invitation-plan.ts';

/** Query of GET /events/{id}/invitations. */
export const listInvitationsQuery = z.object(pageQuery);

/** What one participant was told of one change, and what became of it. */
export const invitationView = z
  .object({
    object: z.literal('invitation'),
    email: z.string(),
    name: z.string(),
    kind: z.enum(INVITATION_KINDS),
    method: z.string().describe('METHOD of the calendar file: REQUEST or CANCEL'),
    sequence: z.number().int().describe('SEQUENCE of the event it tells of'),
    status: z
      .enum(JOB_STATES)
      .describe(
        'As of jobs. pending: the change is not yet at the provider, or the mail is about to be sent',
      ),
    reason: z.string().nullable().describe('Of what is delayed, failed or cancelled'),
    job_status_id: z
      .string()
      .describe(
        'The job of the mail, once there is one: its timeline; before, the job that makes it',
      ),
    created_at: z.number().int(),
  })
  .meta({ id: 'Invitation' });
export type InvitationView = z.infer<typeof invitationView>;
