import { Injectable } from '@nestjs/common';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { Database } from '../../platform/database/sql.ts';

/** An account that represents a meeting room, with the metadata that describes the room. */
export interface RoomAccount {
  email: string;
  name: string;
  metadata: Record<string, string | number | boolean>;
}

/** Reads meeting rooms. */
@Injectable()
export class ResourcesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Lists accounts of the application whose metadata has `room` as `true` or `"true"`, ordered by
   * name.
   */
  list(applicationId: string, page: PageOfView): Promise<Listing<RoomAccount>> {
    const conditions = new Conditions();
    conditions.add(`g.application_id = ${conditions.value(applicationId)}`);
    conditions.add(`g.metadata ->> 'room' = 'true'`);
    return runListing<RoomAccount>(this.database, {
      columns: 'g.email, g.name, g.metadata',
      from: '"grant" g',
      id: 'g.id',
      orderBy: `coalesce(nullif(g.metadata ->> 'room_name', ''), g.name), g.id`,
      conditions,
      page,
      view: page.view,
    });
  }
}
