import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { JobState } from '../../job-statuses/job-status.ts';
import { METHODS } from './invitation-plan.ts';
import type { InvitationResult } from './invitations.repository.ts';
import type { InvitationView } from './invitations.schema.ts';

/** Status for this recipient. A mail with several recipients may have reached only some of them. */
function statusOf(result: InvitationResult): { status: JobState; reason: string | null } {
  if (result.skipped) return { status: 'cancelled', reason: result.skipped };
  const refusal = result.refused?.find(
    ({ email }) => email.toLowerCase() === result.email.toLowerCase(),
  );
  if (refusal) return { status: 'failed', reason: refusal.reason };
  if (result.mailStatus) return { status: result.mailStatus, reason: result.mailReason };
  return { status: result.jobStatus, reason: result.jobReason };
}

export function toInvitationView(result: InvitationResult): InvitationView {
  return {
    object: 'invitation',
    email: result.email,
    name: result.name,
    kind: result.kind,
    method: METHODS[result.kind],
    sequence: result.sequence,
    ...statusOf(result),
    job_status_id: result.mailId ?? result.id,
    created_at: toUnixSeconds(result.createdAt),
  };
}
