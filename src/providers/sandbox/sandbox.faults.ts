import type { Database } from '../../platform/database/sql.ts';
import type { Mailbox } from './sandbox.ids.ts';
import { titleFault } from './sandbox.magic.ts';
import type { SandboxFault } from './sandbox.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const COUNT = `
  insert into sandbox_fault (key, count) values ($1, 1)
  on conflict (key) do update set count = sandbox_fault.count + 1
  returning count`;

/**
 * Counts how often a requested failure has occurred, so that it stops after the requested number of
 * times.
 */
export class SandboxFaults {
  constructor(private readonly database: Database) {}

  /**
   * Whether the operation fails this time.
   * @param times total number of failures; `Infinity`: always
   * @param key identifies the counter
   */
  async strikes(times: number, ...key: readonly string[]): Promise<boolean> {
    if (times === Infinity) return true;
    if (times === 0) return false;
    const [row] = await this.database.query<RowOf<SandboxFault, 'count'>>(COUNT, [key.join(' ')]);
    return (row?.count ?? 0) <= times;
  }

  /**
   * Throws the failure that the title, name or subject of an object requests, the requested number
   * of times per `key`.
   * @throws {ProviderError}
   */
  async strike(
    { applicationId, email }: Mailbox,
    [title, operation, server]: Parameters<typeof titleFault>,
    ...key: readonly string[]
  ): Promise<void> {
    const fault = titleFault(title, operation, server);
    if (fault && (await this.strikes(fault.times, applicationId, email, operation, ...key)))
      throw fault.error;
  }
}
