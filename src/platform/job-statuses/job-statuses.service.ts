import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import { allows, SCOPES_FOR } from '../auth/scopes.ts';
import { NotFoundError } from '../base/errors/domain-error.ts';
import { isId } from '../base/ids/ids.ts';
import type { Listing, PageOfView } from '../database/listing.ts';
import {
  type AttemptRow,
  type JobRow,
  JobStatusesRepository,
  type RecipientsRow,
} from './job-statuses.repository.ts';
import { readableActions } from './job-status-access.ts';

/** What `view=expanded` adds to a job status. */
export interface JobDetails {
  attempts: AttemptRow[];
  /**
   * `undefined` if the job is not about a message, or if the account's scopes do not allow reading
   * its recipients.
   */
  recipients: RecipientsRow | undefined;
}

/** Reads the results of changes that were sent to providers. */
@Injectable()
export class JobStatusesService {
  constructor(private readonly repository: JobStatusesRepository) {}

  /** @throws {NotFoundError} also if the account's scopes do not allow reading it */
  async get(
    account: AccountPrincipal,
    id: string,
    view?: 'expanded',
  ): Promise<{ job: JobRow; details?: JobDetails }> {
    const job = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    const seen = readableActions(account.scopes);
    if (!job || (seen && !seen.some((action) => action === job.action)))
      throw new NotFoundError('job status', id);
    const shown = shownTo(account, job);
    if (view !== 'expanded') return { job: shown };
    const [attempts, recipients] = await Promise.all([
      this.repository.attempts(id),
      shown === job ? this.repository.recipients(id) : undefined,
    ]);
    return { job: shown, details: { attempts, recipients } };
  }

  /** The job statuses that the account's scopes allow reading, newest first. */
  async list(account: AccountPrincipal, query: PageOfView): Promise<Listing<JobRow>> {
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

/** An account that may send drafts but not read them sees only the id of a sent draft. */
function shownTo({ scopes }: AccountPrincipal, job: JobRow): JobRow {
  const draft = job.content?.['draft'];
  return draft === undefined || allows(scopes, SCOPES_FOR.readDrafts)
    ? job
    : { ...job, content: { draft } };
}
