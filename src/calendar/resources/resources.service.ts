import { Injectable } from '@nestjs/common';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Listing, PageOfView } from '../../platform/database/listing.ts';
import type { CalendarPort, RemoteRoom } from '../../providers/port/connector.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import { withinLimit } from '../../providers/port/within-limit.ts';
import { ResourcesRepository, type RoomAccount } from './resources.repository.ts';

/** A request waits this long for the provider. */
const LIMIT_MS = 10_000;
/** Room accounts of an application that are listed together with the provider's rooms. */
const MOST_ACCOUNTS = 10_000;

/** Lists meeting rooms. */
@Injectable()
export class ResourcesService {
  constructor(
    private readonly repository: ResourcesRepository,
    private readonly connectors: ConnectorRegistry,
    private readonly accounts: ProviderAccounts,
  ) {}

  /**
   * Rooms by name: the accounts of the application that are rooms, and the rooms of the account's
   * organization if its provider lists them. A room in both lists is described by its account.
   * @throws {DomainError} if the provider fails or does not answer within 10 seconds
   */
  async list(account: AccountPrincipal, page: PageOfView): Promise<Listing<RemoteRoom>> {
    const { applicationId, provider, accountId } = account;
    const { calendar: port } = this.connectors.require(provider);
    if (!port?.rooms) return roomsOf(await this.repository.list(applicationId, page));
    const [listed, remote] = await Promise.all([
      this.repository.list(applicationId, { limit: MOST_ACCOUNTS, offset: 0 }),
      this.#remote(port, accountId),
    ]);
    const own = listed.view === 'items' ? listed.items.map(roomOf) : [];
    const known = new Set(own.map(({ email }) => email));
    const added = remote.filter(({ email }) => !known.has(email.toLowerCase()));
    const rooms = [...own, ...added].toSorted((a, b) => a.name.localeCompare(b.name));
    return page.view === 'count'
      ? { view: 'count', count: rooms.length }
      : { view: 'items', items: rooms.slice(page.offset, page.offset + page.limit) };
  }

  async #remote(
    port: Pick<CalendarPort, 'rooms'>,
    accountId: string,
  ): Promise<readonly RemoteRoom[]> {
    const connected = await this.accounts.find(accountId);
    if (!connected) return [];
    return withinLimit(
      LIMIT_MS,
      async (signal) => (await port.rooms?.(connected, signal)) ?? [],
    ).catch((error: unknown) => {
      throw error instanceof ProviderError ? providerFailure(error, 'list its rooms') : error;
    });
  }
}

function roomsOf(listing: Listing<RoomAccount>): Listing<RemoteRoom> {
  return listing.view === 'items' ? { ...listing, items: listing.items.map(roomOf) } : listing;
}

function roomOf({ email, name, metadata }: RoomAccount): RemoteRoom {
  const text = (key: string): string => String(metadata[`room_${key}`] ?? '');
  return {
    email,
    name: text('name') || name || email,
    capacity: text('capacity'),
    building: text('building'),
    floorName: text('floor_name'),
    floorNumber: text('floor_number'),
  };
}
