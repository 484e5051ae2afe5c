import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database } from '../../platform/database/sql.ts';
import { OperatorDisabledError } from './operator.errors.ts';

/** A link that signs an operator in once. */
export interface NewLink {
  /** The whole address. It is shown once and stored nowhere. */
  url: string;
  endsAt: Date;
}

/** A link works for an hour: it waits in a terminal until somebody opens it. */
const LINK_MS = 3_600_000;

const OPERATOR = `
  select id, disabled_at is not null as "isDisabled" from operator where name = $1 for share`;
const INSERT = 'insert into operator_link (hash, operator_id, ends_at) values ($1, $2, $3)';

/** Links for operators who have no password, or no browser at hand where they are. */
export class OperatorLinksService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    /** Address under which operators open the console. */
    private readonly consoleUrl: string,
  ) {}

  /**
   * Creates a link that signs an operator in once, within an hour.
   * @throws {NotFoundError} if there is no such operator
   * @throws {OperatorDisabledError}
   */
  async create(actor: Actor, name: string): Promise<NewLink> {
    const secret = randomBase36(SECRET_LENGTH);
    const endsAt = new Date(this.clock.now().getTime() + LINK_MS);
    await this.database.transaction(async (sql) => {
      const [operator] = name.includes('\0')
        ? []
        : await sql.query<{ id: string; isDisabled: boolean }>(OPERATOR, [name.toLowerCase()]);
      if (!operator) throw new NotFoundError('operator', name);
      if (operator.isDisabled) throw new OperatorDisabledError(name);
      await sql.query(INSERT, [hashToken(secret), operator.id, endsAt]);
      const target = { type: 'operator', id: operator.id };
      await recordAudit(sql, { actor, action: 'operator.link', target, details: { name } });
    });
    return { url: `${this.consoleUrl}/console/sign-in/link?secret=${secret}`, endsAt };
  }
}
