import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/sql.ts';
import { TokenOwners } from '../../../platform/refusals/token-owners.ts';

const OWNERS = `
  select encode(hash, 'base64') as hash, grant_id as "accountId" from access_token where hash = any($1::bytea[])`;

/** Finds accounts by the stored hashes of their tokens. */
@Injectable()
export class StoredTokenOwners extends TokenOwners {
  constructor(private readonly database: Database) {
    super();
  }

  override async accountsOf(hashes: readonly Buffer[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ hash: string; accountId: string }>(OWNERS, [hashes]);
    return new Map(rows.map(({ hash, accountId }) => [hash, accountId]));
  }
}
