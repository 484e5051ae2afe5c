import type { Database } from '../../platform/database/sql.ts';
import type { Mailbox } from './sandbox.ids.ts';
import { titleFault } from './sandbox.magic.ts';

const COUNT = `
  insert into sandbox_fault (key, count) values ($1, 1)
  on conflict (key) do update set count = sandbox_fault.count + 1
  returning count`;

/** Counts how often a scripted failure has happened, so that it can stop after the asked number of times. */
export class SandboxFaults {
  constructor(private readonly database: Database) {}

  /**
   * Whether it fails this time.
   * @param times how often it fails in all; Infinity: always
   * @param key what is counted
   */
  async strikes(times: number, ...key: readonly string[]): Promise<boolean> {
    if (times === Infinity) return true;
    if (times === 0) return false;
    const [row] = await this.database.query<{ count: number }>(COUNT, [key.join(' ')]);
    return (row?.count ?? 0) <= times;
  }

  /** Fails as the title, name or subject of an object asks, so many times for each `key`. @throws {ProviderError} */
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
