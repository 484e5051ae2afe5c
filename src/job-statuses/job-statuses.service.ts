import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import { NotFoundError } from '../common/errors/domain-error.ts';
import { isId } from '../common/ids/ids.ts';
import type { Listing } from '../database/listing.ts';
import { type AttemptRow, type JobRow, JobStatusesRepository } from './job-statuses.repository.ts';
import type { ListJobStatusesQuery } from './job-statuses.schema.ts';

/** Reading what became of changes (spec 4.3). */
@Injectable()
export class JobStatusesService {
  constructor(private readonly repository: JobStatusesRepository) {}

  /** @throws {NotFoundError} */
  async get(
    account: AccountPrincipal,
    id: string,
    view?: 'expanded',
  ): Promise<{ job: JobRow; attempts?: AttemptRow[] }> {
    const job = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    if (!job) throw new NotFoundError('job status', id);
    return view === 'expanded' ? { job, attempts: await this.repository.attempts(id) } : { job };
  }

  /** Newest first. */
  list(account: AccountPrincipal, query: ListJobStatusesQuery): Promise<Listing<JobRow>> {
    return this.repository.list(account.accountId, query);
  }
}
