import { Injectable } from '@nestjs/common';
import {
  addMetadataCondition,
  type MetadataFilter,
} from '../../platform/database/metadata-filter.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { Database } from '../../platform/database/sql.ts';
import type { Calendar } from './calendar.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A calendar as a plain value. */
export type CalendarRecord = RowOf<
  Calendar,
  | 'id'
  | 'accountId'
  | 'name'
  | 'description'
  | 'location'
  | 'timezone'
  | 'hexColor'
  | 'isPrimary'
  | 'readOnly'
  | 'metadata'
>;

/** The page to list, and an optional filter by metadata. */
export type CalendarQuery = PageOfView & { metadata?: MetadataFilter | undefined };

const COLUMNS = `
  c.id, c.account_id as "accountId", c.name, c.description, c.location, c.timezone, c.hex_color as "hexColor",
  c.is_primary as "isPrimary", c.read_only as "readOnly", c.metadata`;

const FIND = `select ${COLUMNS} from calendar c where c.id = $1 and c.account_id = $2 and not c.deleting`;
const FIND_MANY = `
  select ${COLUMNS} from calendar c where c.account_id = $1 and c.id = any($2::uuid[]) and not c.deleting`;

/** Reads calendars from the mirror. */
@Injectable()
export class CalendarsRepository {
  constructor(private readonly database: Database) {}

  async find(accountId: string, id: string): Promise<CalendarRecord | undefined> {
    return (await this.database.query<CalendarRecord>(FIND, [id, accountId]))[0];
  }

  /** Returns those of the given calendars that the account has, in no particular order. */
  findMany(accountId: string, ids: readonly string[]): Promise<CalendarRecord[]> {
    return this.database.query<CalendarRecord>(FIND_MANY, [accountId, ids]);
  }

  /** Lists calendars, oldest first. */
  list(accountId: string, query: CalendarQuery): Promise<Listing<CalendarRecord>> {
    const conditions = new Conditions();
    conditions.add(`c.account_id = ${conditions.value(accountId)} and not c.deleting`);
    if (query.metadata) addMetadataCondition(conditions, 'c.metadata', query.metadata);
    return runListing<CalendarRecord>(this.database, {
      columns: COLUMNS,
      from: 'calendar c',
      id: 'c.id',
      orderBy: 'c.id',
      conditions,
      page: query,
      view: query.view,
    });
  }
}

/** An entity as a plain value. */
export function calendarRecord(calendar: Calendar): CalendarRecord {
  return {
    id: calendar.id,
    accountId: calendar.account.id,
    name: calendar.name,
    description: calendar.description ?? null,
    location: calendar.location ?? null,
    timezone: calendar.timezone ?? null,
    hexColor: calendar.hexColor ?? null,
    isPrimary: calendar.isPrimary,
    readOnly: calendar.readOnly,
    metadata: calendar.metadata,
  };
}
