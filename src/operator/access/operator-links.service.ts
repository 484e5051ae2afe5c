import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database } from '../../platform/database/sql.ts';

/** A link that signs an operator in once. */
export interface NewLink {
  /** The whole address. It is shown once and stored nowhere. */
  url: string;
  endsAt: Date;
}

/** A link works for an hour: it waits in a terminal until somebody opens it. */
const LINK_MS = 3_600_000;

const INSERT = `
  insert into operator_link (hash, operator_id, ends_at)
  select $1, id, $3 from operator where name = $2 returning operator_id as "operatorId"`;

/** Links for operators who have no password, or no browser at hand where they are. */
export class OperatorLinks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    /** Address under which operators open the console. */
    private readonly consoleUrl: string,
  ) {}

  /**
   * Creates a link that signs an operator in once, within an hour.
   * @throws {NotFoundError} if there is no such operator
   */
  async create(actor: Actor, name: string): Promise<NewLink> {
    const secret = randomBase36(SECRET_LENGTH);
    const endsAt = new Date(this.clock.now().getTime() + LINK_MS);
    await this.database.transaction(async (sql) => {
      const values = [hashToken(secret), name.toLowerCase(), endsAt];
      const [row] = name.includes('\0')
        ? []
        : await sql.query<{ operatorId: string }>(INSERT, values);
      if (!row) throw new NotFoundError('operator', name);
      const target = { type: 'operator', id: row.operatorId };
      await recordAudit(sql, { actor, action: 'operator.link', target, details: { name } });
    });
    return { url: `${this.consoleUrl}/console/sign-in/link?secret=${secret}`, endsAt };
  }
}
