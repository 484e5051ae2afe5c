import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import { NotFoundError } from '../common/errors/domain-error.ts';
import { isId } from '../common/ids/ids.ts';
import type { Listing } from '../database/listing.ts';
import {
  type AttemptRow,
  type JobRow,
  JobStatusesRepository,
  type RecipientsRow,
} from './job-statuses.repository.ts';
import type { ListJobStatusesQuery } from './job-statuses.schema.ts';

/** What `view=expanded` adds to a job. */
export interface JobDetails {
  attempts: AttemptRow[];
  /** Undefined: it is no message. */
  recipients: RecipientsRow | undefined;
}

/** Reading what became of changes (spec 4.3). */
@Injectable()
export class JobStatusesService {
  constructor(private readonly repository: JobStatusesRepository) {}

  /** @throws {NotFoundError} */
  async get(
    account: AccountPrincipal,
    id: string,
    view?: 'expanded',
  ): Promise<{ job: JobRow; details?: JobDetails }> {
    const job = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!job) throw new NotFoundError('job status', id);
    if (view !== 'expanded') return { job };
    const [attempts, recipients] = await Promise.all([
      this.repository.attempts(id),
      this.repository.recipients(id),
    ]);
    return { job, details: { attempts, recipients } };
  }

  /** Newest first. */
  list(account: AccountPrincipal, query: ListJobStatusesQuery): Promise<Listing<JobRow>> {
    return this.repository.list(account.accountId, query);
  }
}
