import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../platform/auth/scopes.ts';
import { NotFoundError } from '../platform/base/errors/domain-error.ts';
import { isId } from '../platform/base/ids/ids.ts';
import type { Listing } from '../platform/database/listing.ts';
import { type JobRow, JobStatusesRepository, type ListedJobs } from './job-statuses.repository.ts';
import { readableActions } from './job-status-access.ts';

/** Reads the results of changes that were sent to providers. */
@Injectable()
export class JobStatusesService {
  constructor(private readonly repository: JobStatusesRepository) {}

  /** @throws {NotFoundError} also if the account's scopes do not allow reading it */
  async get(account: AccountPrincipal, id: string, view?: 'expanded'): Promise<JobRow> {
    const job = isId(id)
      ? await this.repository.find(account.accountId, id, view === 'expanded')
      : undefined;
    const seen = readableActions(account.scopes);
    if (!job || (seen && !seen.some((action) => action === job.action)))
      throw new NotFoundError('job status', id);
    return shownTo(account, job);
  }

  /** The job statuses that the account's scopes allow reading, newest first. */
  async list(account: AccountPrincipal, query: ListedJobs): Promise<Listing<JobRow>> {
    const listing = await this.repository.list(
      account.accountId,
      query,
      readableActions(account.scopes),
    );
    return listing.view === 'items'
      ? { ...listing, items: listing.items.map((job) => shownTo(account, job)) }
      : listing;
  }
}

/**
 * An account that may send drafts but not read them sees only the id of a sent draft, and not its
 * recipients.
 */
function shownTo({ scopes }: AccountPrincipal, job: JobRow): JobRow {
  const draft = job.content?.['draft'];
  if (draft === undefined || allows(scopes, SCOPES_FOR.readDrafts)) return job;
  const { recipients: _recipients, ...shown } = job;
  return { ...shown, content: { draft } };
}
