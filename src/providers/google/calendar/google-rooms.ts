import { z } from 'zod';
import type { ProviderAccount, RemoteRoom } from '../../port/connector.ts';
import { type GoogleApi, googlePages } from '../google-api.ts';

const roomList = z.object({
  items: z
    .array(
      z.object({
        resourceEmail: z.string().optional(),
        resourceName: z.string().default(''),
        resourceCategory: z.string().optional(),
        capacity: z.number().optional(),
        buildingId: z.string().default(''),
        floorName: z.string().default(''),
      }),
    )
    .default([]),
  nextPageToken: z.string().optional(),
});

const PATH = '/admin/directory/v1/customer/my_customer/resources/calendars';

/**
 * The meeting rooms in the directory of the account's organization.
 * @throws {GoogleError} if the account is not an administrator that may read them
 */
export async function roomsOfDirectory(
  api: GoogleApi,
  account: ProviderAccount,
  signal: AbortSignal,
): Promise<RemoteRoom[]> {
  const rooms: RemoteRoom[] = [];
  const pages = googlePages((pageToken) => {
    const query = { maxResults: 500, pageToken };
    const cost = { units: 1, priority: 'interactive' } as const;
    const request = { method: 'GET', path: PATH, query, signal, ...cost } as const;
    return api.read(account, request, roomList);
  });
  for await (const { items } of pages) {
    for (const one of items) {
      // Other resources are cars and projectors.
      if (!one.resourceEmail || one.resourceCategory === 'OTHER') continue;
      rooms.push({
        email: one.resourceEmail.toLowerCase(),
        name: one.resourceName,
        capacity: one.capacity === undefined ? '' : String(one.capacity),
        building: one.buildingId,
        floorName: one.floorName,
        floorNumber: '',
      });
    }
  }
  return rooms;
}
