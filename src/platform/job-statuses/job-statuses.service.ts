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
import { jobsSeen } from './job-sight.ts';

/** What `view=expanded` adds to a job. */
export interface JobDetails {
  attempts: AttemptRow[];
  /** Undefined: it is no message, or one whose recipients the account's scopes do not let be read. */
  recipients: RecipientsRow | undefined;
}

/** Reading what became of changes (spec 4.3). */
@Injectable()
export class JobStatusesService {
  constructor(private readonly repository: JobStatusesRepository) {}

  /** @throws {NotFoundError} also where the account's scopes do not let it be read */
  async get(
    account: AccountPrincipal,
    id: string,
    view?: 'expanded',
  ): Promise<{ job: JobRow; details?: JobDetails }> {
    const job = isId(id) ? await this.repository.find(account.accountId, id) : undefined;
    const seen = jobsSeen(account.scopes);
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

  /** Those of the kinds that the account's scopes let be read, newest first. */
  async list(account: AccountPrincipal, query: PageOfView): Promise<Listing<JobRow>> {
    const listing = await this.repository.list(account.accountId, query, jobsSeen(account.scopes));
    return listing.view === 'items'
      ? { ...listing, items: listing.items.map((job) => shownTo(account, job)) }
      : listing;
  }
}

/** Who may send drafts and not read them is told of one that was sent by its id only. */
function shownTo({ scopes }: AccountPrincipal, job: JobRow): JobRow {
  const draft = job.content?.['draft'];
  return draft === undefined || allows(scopes, SCOPES_FOR.readDrafts)
    ? job
    : { ...job, content: { draft } };
}
