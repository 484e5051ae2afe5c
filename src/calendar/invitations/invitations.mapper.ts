import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { JobState } from '../../platform/job-statuses/job-status.ts';
import { METHODS } from './invitation-plan.ts';
import type { InvitationFate } from './invitations.repository.ts';
import type { InvitationView } from './invitations.schema.ts';

/** Status for this recipient. A mail with several recipients may have reached only some of them. */
function fateOf(fate: InvitationFate): { status: JobState; reason: string | null } {
  if (fate.skipped) return { status: 'cancelled', reason: fate.skipped };
  const refusal = fate.refused?.find(
    ({ email }) => email.toLowerCase() === fate.email.toLowerCase(),
  );
  if (refusal) return { status: 'failed', reason: refusal.reason };
  if (fate.mailStatus) return { status: fate.mailStatus, reason: fate.mailReason };
  return { status: fate.jobStatus, reason: fate.jobReason };
}

export function toInvitationView(fate: InvitationFate): InvitationView {
  return {
    object: 'invitation',
    email: fate.email,
    name: fate.name,
    kind: fate.kind,
    method: METHODS[fate.kind],
    sequence: fate.sequence,
    ...fateOf(fate),
    job_status_id: fate.mailId ?? fate.id,
    created_at: toUnixSeconds(fate.createdAt),
  };
}
